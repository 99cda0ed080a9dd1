"""A bar only for a person who waits."""

import io
import sys

import pytest

from zerograd.report import progress
from zerograd.report.progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_for_long_work_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_SOON", 0.0)
    stream = Terminal()
    with Bar(stream, label="Reading") as bar:
        for done in range(1, 4):
            bar(done, 3)
    assert "Reading" in stream.getvalue()
    assert "3/3" in stream.getvalue()


@pytest.mark.parametrize(("stream", "soon"), [(io.StringIO(), 0.0), (Terminal(), 60.0)], ids=["pipe", "short"])
def test_no_bar(stream: io.StringIO, soon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SOON", soon)
    monkeypatch.setitem(sys.modules, "rich.progress", None)  # would not even be imported
    with Bar(stream, label="Reading") as bar:
        bar(1, 2)
    assert stream.getvalue() == ""


def test_lines_on_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """After two seconds, then ever more seldom."""
    seconds = iter([0.0, 1.0, 2.5, 3.0, 8.0, 9.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    stream = io.StringIO()
    with Bar(stream, label="Reading") as bar:
        for done in (500, 1500, 1600, 2900, 3000):
            bar(done, 3000)
    assert stream.getvalue() == ("zerograd: reading: 1,500 of 3,000 files\nzerograd: reading: 2,900 of 3,000 files\n")


def test_no_lines_for_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LATER", 0.0)
    stream = io.StringIO()
    with Bar(stream, label="Reading", lines=False) as bar:
        bar(500, 3000)
    assert stream.getvalue() == ""
