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
