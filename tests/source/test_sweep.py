"""Many files: the same outcomes in the same order, whoever reads them and however often."""

from pathlib import Path

import pytest

from zerograd.rules import REGISTRY
from zerograd.source.sweep import Settings, Target, sweep

BAD, GOOD = REGISTRY["ZG001"].bad, REGISTRY["ZG001"].good
FILES = {
    "a.py": BAD,
    "b.py": GOOD,
    "c.py": "import torch\noptimizer.zero_grad(\n",
    "d.py": "x = 1\n",
    "e.py": BAD,
    "f.py": "from g import train\nimport torch\n" + BAD,
}
CACHED = Settings(cache="cache", version="1", jobs=1)


@pytest.fixture
def targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Target]:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    return [Target(name, name) for name in (*FILES, "gone.py")]


def test_every_way_of_reading_gives_the_same(targets: list[Target]) -> None:
    alone = sweep(targets, Settings(jobs=1))
    assert [len(outcome.findings) for outcome in alone] == [1, 0, 0, 0, 1, 1, 0]
    assert [bool(outcome.trouble) for outcome in alone] == [False, False, True, False, False, False, True]
    assert sweep(targets, Settings(jobs=2)) == alone
    assert sweep(targets, CACHED) == alone
    assert sweep(targets, CACHED) == alone


def test_notes_that_are_not_shown_have_no_fixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fix is tried before it is offered, which nobody should wait for who does not see it; and is there if asked."""
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(REGISTRY["ZG403"].bad)
    target = [Target("a.py", "a.py")]
    for notes in (False, True, False, True):  # the cache knows one from the other
        (outcome,) = sweep(target, CACHED._replace(notes=notes))
        assert [finding.fix is not None for finding in outcome.findings] == [notes]


def test_what_is_known_is_not_read_again(targets: list[Target]) -> None:
    told: list[tuple[int, int]] = []

    def advance(done: int, total: int) -> None:
        told.append((done, total))

    sweep(targets, CACHED, advance=advance)
    assert told == [(done, 5) for done in range(1, 6)]
    told.clear()
    sweep(targets, CACHED, advance=advance)
    assert told == [(1, 1)]  # what is not Python is not remembered: its line is told every time
    told.clear()
    Path("a.py").write_text(GOOD)
    assert not sweep(targets, CACHED, advance=advance)[0].findings
    assert told == [(1, 2), (2, 2)]


def test_a_file_that_comes_to_be_imported_counts(targets: list[Target]) -> None:
    """What a file imports decides what is found in it, even if it was not there before."""
    caller = "import torch\nfrom helper import clear\n" + BAD.replace(
        "optimizer.step()", "optimizer.step()\n    clear(optimizer)"
    )
    Path("caller.py").write_text(caller)
    target = [Target("caller.py", "caller.py")]
    for text, certain in (
        (None, 0),
        ("def clear(o):\n    print('zero_grad', o)\n", 1),
        ("def clear(o):\n    o.zero_grad()\n", 0),
    ):
        if text is not None:
            Path("helper.py").write_text(text)
        (fresh,) = sweep(target, Settings(jobs=1))
        (known,) = sweep(target, CACHED)
        assert known == fresh
        assert sum(finding.fails for finding in fresh.findings) == certain


def test_what_a_file_imports_is_kept_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files were opened before it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zerograd.source.project.files._MOST", 1)
    names = ("one", "two", "three")
    for name in names:
        Path(f"{name}.py").write_text(f"def {name}(optimizer):\n    optimizer.zero_grad()\n")
    imports = "".join(f"from {name} import {name}\n" for name in names)
    calls = "".join(f"\n    {name}(optimizer)" for name in names)
    Path("train.py").write_text(imports + BAD.replace("optimizer.step()", "optimizer.step()" + calls))
    for outcome in sweep([Target("train.py", "train.py")] * 2, Settings(jobs=1)):
        assert {found.code for found in outcome.findings} == {"ZG403"}  # one of the three would do
