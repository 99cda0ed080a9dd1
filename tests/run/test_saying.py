"""What is said is said in one write, to whatever standard error is, and fails nobody."""

import io
import os
import sys
from collections.abc import Callable

import pytest

from zerograd.run.saying import say


def test_one_write(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with open(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(sys, "__stderr__", stream)
        written: list[int] = []
        real: Callable[[int, memoryview], int] = os.write
        monkeypatch.setattr(os, "write", lambda to, data: written.append(len(data)) or real(to, data))
        text = "\n".join(f"line {i}" for i in range(2000))  # more than any buffer of a stream holds
        say(text)
        monkeypatch.undo()
    assert written == [len(text) + 1]
    with open(reader, encoding="utf-8") as told:
        assert told.read() == f"{text}\n"


def test_a_stream_of_the_programs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = io.StringIO()
    monkeypatch.setattr(sys, "stderr", own)
    say("word")
    assert own.getvalue() == "word\n"


@pytest.mark.parametrize("stream", [None, open(os.devnull, "w")], ids=["none", "closed"])  # noqa: SIM115
def test_nobody_to_say_it_to(stream: io.TextIOWrapper | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if stream is not None:
        stream.close()
    for name in ("stderr", "__stderr__"):
        monkeypatch.setattr(sys, name, stream)
    say("word")
