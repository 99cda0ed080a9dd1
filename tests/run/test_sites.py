"""A finding points at the user's own line, whatever stands between it and torch, and wherever the program goes."""

import os
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

from zerograd.core.events import Site
from zerograd.run import sites

CALL = "def call(look):\n    return look()\n"
LOOK = "from zerograd.run.sites import user_site\ndef look():\n    print(*user_site()[:2])\n"


def _frame_in(path: str):
    """A function whose code says that it stands in `path`."""
    namespace: dict[str, object] = {}
    exec(compile(CALL, path, "exec"), namespace)
    return namespace["call"]


FOREIGN = {
    "torch": os.path.join(os.path.dirname(torch.__file__), "optim", "any.py"),
    "the standard library": os.path.join(sysconfig.get_path("stdlib"), "any.py"),
    "a package": os.path.join(sysconfig.get_path("purelib"), "package", "any.py"),
    "a package of this user": os.path.join(site.getusersitepackages(), "package", "any.py"),
    "an fx graph": "<eval_with_key>.7",
}


@pytest.mark.parametrize("path", FOREIGN.values(), ids=FOREIGN)
def test_a_frame_that_is_not_the_users_is_passed_by(path: str) -> None:
    outer, inner = _frame_in("/home/me/train.py"), _frame_in(path)
    assert _line(outer(lambda: inner(sites.user_site))) == (sites.shown(__file__), _line_of("inner(sites.user_site)"))
    assert _frame_in("/home/me/train.py")(sites.user_site) == Site("/home/me/train.py", 2)


def _line(place: Site) -> tuple[str, int]:
    return place.path, place.line


def _line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_torch_built_from_source_is_foreign() -> None:
    script = (
        "import sys, types\n"
        "torch = types.ModuleType('torch'); torch.__file__ = '/opt/pytorch/torch/__init__.py'\n"
        "sys.modules['torch'] = torch\n"
        "from zerograd.run import sites\n"
        "print(sites._whose('/opt/pytorch/torch/optim/sgd.py').name, sites._whose('/opt/pytorch/train.py').name)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "MACHINERY USER\n"


def test_an_installed_trainer_points_at_itself(tmp_path: Path) -> None:
    """No frame is the user's when a package runs itself: then the innermost one of a package has to do."""
    trainer = os.path.join(sysconfig.get_path("purelib"), "trainer", "loop.py")
    script = (
        "import threading\n"
        "from zerograd.run.sites import user_site\n"
        f"call = {{}}\nexec(compile({CALL!r}, {trainer!r}, 'exec'), call)\n"
        f"look = {{}}\nexec(compile({LOOK!r}, {FOREIGN['torch']!r}, 'exec'), look)\n"
        "thread = threading.Thread(target=call['call'], args=(look['look'],))\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == f"{trainer} 2\n"


def test_two_files_with_the_same_code_are_two_files() -> None:
    mine, theirs = _frame_in("/home/me/train.py"), _frame_in(FOREIGN["a package"])
    assert mine(sites.user_site).path == "/home/me/train.py"
    assert _line(theirs(sites.user_site)) == (sites.shown(__file__), _line_of("theirs(sites.user_site)"))


def test_paths_are_shown_from_where_the_run_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites._start, "folder", str(tmp_path))
    call = _frame_in(str(tmp_path / "package" / "train.py"))
    first = call(sites.user_site)
    monkeypatch.chdir(tmp_path.parent)
    assert call(sites.user_site) == first == Site("package/train.py", 2)
    assert sites.located(first.path) == str(tmp_path / "package" / "train.py")


@pytest.mark.parametrize("order", ["first", "later"])
def test_a_folder_that_is_deleted_stops_nobody(order: str, tmp_path: Path) -> None:
    leave = f"os.mkdir('{tmp_path}/gone'); os.chdir('{tmp_path}/gone'); os.rmdir('{tmp_path}/gone')\n"
    script = (
        "import os, torch\n"
        + "weight = torch.nn.Parameter(torch.ones(2))\n"
        + "optimizer = torch.optim.SGD([weight], lr=0.1)\n"  # first: torch itself needs a folder for this
        + (leave if order == "first" else "")
        + "import zerograd\n"
        + "with zerograd.audit(on_finding='collect') as watch:\n"
        + ("    " + leave if order == "later" else "")
        + "    for _ in range(2):\n        weight.sum().backward(); optimizer.step()\n"
        + "print([finding.code for finding in watch.findings])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "['ZG001']\n", done.stderr


def test_a_function_that_keeps_its_locals_keeps_them_as_they_are() -> None:
    def configure() -> dict[str, object]:
        rate = 0.1
        settings = locals()
        settings["rate"] = 0.2  # its own from here on
        sites.names_in(sys._getframe(), lambda value: type(value) is float)
        return {name: settings[name] for name in ("rate",)} | {"real": rate}

    assert configure() == {"rate": 0.2, "real": 0.1}


def _places(text: str, monkeypatch: pytest.MonkeyPatch) -> list[Site]:
    """What each `here()` of a program says."""
    monkeypatch.setitem(sites._known, __file__, sites._Whose.MACHINERY)
    said: list[Site] = []
    exec(compile(text, "/home/me/train.py", "exec"), {"here": lambda: said.append(sites.user_site())})
    return said


ONE_STATEMENT_EACH = "here()\nif here():\n    pass\nfor _ in [0, 0]:\n    here()\n"
TWO = (
    "here(); here()\n",
    "if not here(): here()\n",
    "for _ in [here()]: here()\n",
    "with open('/dev/null'): here(); here()\n",
)
TWO_AS_WELL = "a, b = (lambda: here()), (lambda: here())\na()\nb()\n"
FINALLY = "for _ in [0, 0]:\n    try: 1 / _\n    except ZeroDivisionError: continue\n    finally: here()\n"


def test_a_line_of_one_statement_is_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, again = _places(ONE_STATEMENT_EACH, monkeypatch)
    assert [first, second, third] == [Site("/home/me/train.py", line) for line in (1, 2, 5)]
    assert again is third


@pytest.mark.parametrize("text", [*TWO, TWO_AS_WELL])
def test_statements_that_share_a_line_are_places_of_their_own(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = _places(text, monkeypatch)
    assert first != second
    assert (first.line, first.end_line) == (second.line, second.end_line) == (1, 1)
    assert [text[one.column - 1 : one.end_column - 1] for one in (first, second)] == ["here()"] * 2


def test_a_place_is_the_same_however_often_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (_places("here(); 1\n", monkeypatch)[0] for _ in range(2))
    assert one is other


def test_so_they_are_in_a_loop_whose_end_is_far(monkeypatch: pytest.MonkeyPatch) -> None:
    padding = "; ".join(["len([0])"] * 60)
    first, second = _places(f"for _ in [0]: here(); {padding}; here()\n", monkeypatch)
    assert first != second


def test_what_python_compiles_twice_is_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(set(_places(FINALLY, monkeypatch))) == 1


def test_without_columns_two_statements_are_two_places() -> None:
    script = (
        "from zerograd.run.sites import user_site\n"
        "a = user_site(); b = user_site()\n"
        "print(len({a, b}), a.line, b.line)\n"
    )
    bare = [sys.executable, "-X", "no_debug_ranges", "-c", script]
    assert subprocess.run(bare, capture_output=True, text=True, check=True).stdout == "2 2 2\n"
