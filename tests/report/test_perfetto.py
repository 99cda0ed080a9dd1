"""Our events lie beside torch.profiler's: same clock, same base."""

import json
from pathlib import Path

import pytest

from report.traces import stale
from zerograd.errors import UsageError
from zerograd.report.perfetto import perfetto
from zerograd.report.walk import processes

BEGAN = 1_790_857_026_500_000_000


def test_events_counters_and_findings(tmp_path: Path) -> None:
    whole = json.loads(perfetto(processes([stale(tmp_path / "run.jsonl", 3, began=BEGAN)])))
    assert whole["baseTimeNanoseconds"] == BEGAN
    spans = [event for event in whole["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in spans] == ["backward", "clip", "step"] * 3
    assert spans[0]["dur"] == 250_000  # microseconds: it took a quarter of a second
    assert spans[2]["args"]["before"] == "fresh"
    assert spans[5]["args"]["before"] == "mixed"
    found = [event["name"] for event in whole["traceEvents"] if event["ph"] == "i"]
    assert found == ["ZG001 stale-accumulation"] * 2
    assert {event["name"] for event in whole["traceEvents"] if event["ph"] == "C"} == {"SGD#0 norm", "SGD#0 loss"}


def test_beside_a_profile(tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    base = BEGAN - 500_000_000  # half a second before the trace
    theirs = {"ph": "X", "name": "aten::add", "pid": 1, "tid": 1, "ts": 500_100.0, "dur": 2}
    profile.write_text(json.dumps({"baseTimeNanoseconds": base, "traceEvents": [theirs]}))
    whole = json.loads(perfetto(processes([stale(tmp_path / "run.jsonl", 1, began=BEGAN)]), beside=str(profile)))
    assert whole["baseTimeNanoseconds"] == base
    assert theirs in whole["traceEvents"]
    ours = [event for event in whole["traceEvents"] if event.get("cat") == "zerograd"]
    assert all(event["ts"] + event["dur"] >= 500_000 for event in ours)


def test_a_real_profile_has_the_same_clock(tmp_path: Path) -> None:
    import time

    import torch
    from torch.profiler import profile

    with profile() as profiler:
        before = time.time_ns()
        torch.ones(3).sum()
        after = time.time_ns()
    profiler.export_chrome_trace(str(tmp_path / "p.json"))
    whole = json.loads((tmp_path / "p.json").read_text())
    at = next(event["ts"] for event in whole["traceEvents"] if event.get("name") == "aten::sum")
    assert before - 1_000_000 <= whole["baseTimeNanoseconds"] + at * 1000 <= after + 1_000_000


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"traceEvents": 1}'])
def test_beside_what_is_no_profile(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(UsageError, match="no Chrome trace"):
        perfetto(processes([stale(tmp_path / "run.jsonl")]), beside=str(tmp_path / "p.json"))
