"""Whether a program looks at gradients is read from its own text, and from the text of what it has names from."""

import linecache
import sys
from pathlib import Path
from types import FrameType, ModuleType

import pytest

from zerograd.run.readers import nobody_averages, nobody_looks


def _running(text: str, **names: object) -> FrameType:
    """A frame of a program with this text."""
    linecache.cache["read.py"] = (len(text), None, text.splitlines(keepends=True), "read.py")
    program = f"{text}\nimport sys\nhere = sys._getframe()"
    space: dict[str, object] = {"__name__": "__main__", **names}
    exec(compile(program, "read.py", "exec"), space)
    frame = space["here"]
    assert isinstance(frame, FrameType)
    return frame


@pytest.mark.parametrize(
    ("text", "blind"),
    [
        ("optimizer = zero_grad = 1\n", True),
        ("with_no_grad = 'no_grad'\n", True),
        ("import types\np = types.SimpleNamespace(grad=1)\np.grad\n", False),
        ("getattr(object, 'grad', None)\n", False),
        ("def log_hook(): ...\n", False),
    ],
)
def test_the_text_is_asked(text: str, blind: bool) -> None:
    assert nobody_looks(_running(text)) is blind


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("class AverageMeter: ...\n", True),
        ("reduced, sender = 1, 'moving average'\n", True),
        ("def dist_all_reduce(p): ...\n", False),
        ("def average_parameters(model): ...\n", False),
        ("averager = LocalSGD = None\n", False),
    ],
)
def test_averaging_is_known_by_its_words(text: str, alone: bool) -> None:
    assert nobody_averages(_running(text)) is alone


def test_so_are_the_modules_it_has_names_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loggers.py").write_text("def log(model):\n    return [p.grad for p in model]\n")
    (tmp_path / "between.py").write_text("import loggers\n")
    (tmp_path / "empty.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    modules: dict[str, ModuleType] = {}
    for name in ("loggers", "between", "empty"):
        modules[name] = __import__(name)
        monkeypatch.delitem(sys.modules, name)
    assert not nobody_looks(_running("x = 1\n", between=modules["between"]))
    assert nobody_looks(_running("x = 1\n", empty=modules["empty"]))


def test_nobody_is_known_to_be_blind_without_a_text() -> None:
    assert not nobody_looks(None)
    space: dict[str, object] = {}
    exec(compile("import sys\nhere = sys._getframe()", "<never written>", "exec"), space)
    frame = space["here"]
    assert isinstance(frame, FrameType)
    assert not nobody_looks(frame)
