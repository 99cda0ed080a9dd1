"""A run as a Chrome trace, for Perfetto and chrome://tracing, on the clock of torch.profiler.

torch.profiler (2.13) writes microseconds since a base, and the base as `baseTimeNanoseconds` in Unix time. Our events
carry Unix time as well, so they are written from the same base and both lie in one picture.
"""

import json
from collections.abc import Iterator
from typing import Any

from zerograd.core.events import Kind
from zerograd.errors import UsageError
from zerograd.report.printable import printable
from zerograd.report.walk import Moment, Process

_PID = 1_000_000  # beside the processes of the profiler, never among them
_NAMES = {Kind.DEPOSIT: "backward", Kind.SPILL: "backward", Kind.CONSUME: "step"}
_COUNTED = ("norm", "loss", "scale")


def perfetto(processes: list[Process], *, beside: str | None = None) -> str:
    """`beside`: a trace of torch.profiler that ours is added to."""
    whole: dict[str, Any] = {"displayTimeUnit": "ms", "traceEvents": []} if beside is None else _read(beside)
    began = [began for process in processes if isinstance(began := process.trace.header.get("began"), int)]
    base = whole.get("baseTimeNanoseconds", 0 if beside else min(began, default=0))
    whole["baseTimeNanoseconds"] = base
    events: list[dict[str, object]] = whole["traceEvents"]
    for process in processes:
        start = process.trace.header.get("began")
        events.extend(_process(process, (start - base) / 1000 if isinstance(start, int) else 0.0))
    return json.dumps(whole, separators=(",", ":"), allow_nan=False)


def _process(process: Process, offset: float) -> Iterator[dict[str, object]]:
    pid = _PID + process.number
    yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"zerograd {process.name}"}}
    threads: dict[str, int] = {}
    faults: dict[int, list[str]] = {}
    for found in process.survey.found:
        for event in found.events:
            faults.setdefault(event, []).append(f"{found.finding.code} {found.finding.name}")
    now = 0.0
    for moment in process.walk():
        slot = printable(moment.lane.title if moment.lane.called else moment.lane.slot)
        if slot not in threads:
            threads[slot] = len(threads) + 1
            named = {"name": f"gradients of {slot}"}
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": threads[slot], "args": named}
        now = float(moment.line.at) if moment.line.at is not None else now + 1.0
        where = {"pid": pid, "tid": threads[slot]}
        yield _event(moment, offset + now) | where
        for told in faults.get(moment.number, ()):
            yield {"ph": "i", "s": "t", "name": told, "cat": "finding", "ts": offset + now} | where
        for name in _COUNTED:
            value = (moment.step.numbers if moment.step else {}).get(name)
            if value is not None and abs(value) < float("inf"):
                yield {"ph": "C", "name": f"{slot} {name}", "pid": pid, "ts": offset + now, "args": {name: value}}


def _event(moment: Moment, now: float) -> dict[str, object]:
    event = moment.line.event
    name = "skipped step" if "skipped" in moment.numbers else _NAMES.get(event.kind, event.kind.value)
    took = moment.numbers.get("took", 0.0) * 1e6
    place = f"{event.site.path}:{event.site.line}" if event.site else ""
    numbers = {key: value for key, value in moment.numbers.items() if abs(value) < float("inf")}
    contents = {"before": moment.before, "after": moment.lane.held}
    args = {"call": printable(event.what), "place": printable(place), **contents, **numbers}
    return {
        "ph": "X",
        "name": name,
        "cat": "zerograd",
        "ts": round(now - took, 3),
        "dur": round(max(took, 1.0), 3),
        "args": args,
    }


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
        if not isinstance(whole["traceEvents"], list):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"{path} is no Chrome trace", cure="Write one: profiler.export_chrome_trace(FILE).", slug="not-a-trace"
        ) from None
    return dict(whole)
