"""A trace comes back as it was written, as far as it was written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerograd.core.events import Event, Kind, Site
from zerograd.errors import UsageError
from zerograd.trace.lines import TraceWriter, of_rank, read_trace, to_json
from zerograd.trace.replay import replay

sites = st.builds(Site, st.text(), st.integers(0, 10**6), st.integers(1, 200))
events = st.builds(
    Event,
    st.sampled_from(Kind),
    st.none() | st.text(),
    st.none() | sites,
    st.booleans(),
    st.text(),
    st.dictionaries(st.text(), st.floats(allow_nan=False)).map(lambda numbers: tuple(numbers.items())),
)


@given(written=st.lists(events))
def test_a_trace_comes_back(tmp_path_factory: pytest.TempPathFactory, written: list[Event]) -> None:
    path = tmp_path_factory.mktemp("trace") / "run.jsonl"
    writer = TraceWriter(path)
    for event in written:
        writer(event)
    writer.close()
    assert read_trace(path) == written


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = TraceWriter(path)
    writer(Event(Kind.DEPOSIT, "opt"))
    writer(Event(Kind.CONSUME, "opt"))
    writer.close()
    path.write_bytes(path.read_bytes()[:-5])
    assert [event.kind for event in read_trace(path)] == [Kind.DEPOSIT]


@pytest.mark.parametrize("text", ["", "hello", "{}", '{"tool": "zerograd", "schema": 99}'])
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match="trace"):
        read_trace(path)


def test_empty_fields_are_not_written() -> None:
    assert to_json(Event(Kind.CLEAR, "opt")) == {"kind": "clear", "slot": "opt"}


def test_a_replayed_trace_has_the_findings_of_the_run() -> None:
    loop = [Event(Kind.DEPOSIT, "opt", Site("a.py", 5), what="backward()"), Event(Kind.CONSUME, "opt", Site("a.py", 6))]
    (finding,) = replay(loop * 2)
    assert (finding.code, finding.site.line) == ("ZG001", 6)
    assert finding.related[0].site.line == 5


KILLED = """
import os, signal, sys
import torch
import zerograd

weight = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([weight], lr=0.1)
with zerograd.audit(trace=sys.argv[1]):
    for step in range(100):
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()
        if step == 6:
            weight.sum().backward()
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_keeps_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert killed.returncode == -signal.SIGKILL
    kinds = [event.kind for event in read_trace(path)]
    assert kinds.count(Kind.CONSUME) == kinds.count(Kind.DEPOSIT) == 7
    assert kinds[-1] is Kind.CONSUME
    assert replay(read_trace(path)) == []


def test_each_rank_has_its_own_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_rank("run.jsonl") == Path("run.jsonl")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert of_rank("logs/run.jsonl") == Path("logs/run.rank1.jsonl")
