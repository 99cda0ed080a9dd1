"""A trace comes back as it was written, as far as it was written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerograd.core.events import Event, Kind, Site
from zerograd.errors import UsageError
from zerograd.trace.lines import TraceWriter, read_trace, to_json
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
