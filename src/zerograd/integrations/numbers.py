"""What each step of a run consumed, in numbers, while it runs; and the trace that a report is made from beside."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from zerograd.core.events import Event
from zerograd.report.lane import Lane, Step
from zerograd.run.saying import say
from zerograd.trace.lines import TraceWriter
from zerograd.trace.reading import Line, numbers_of


class StepNumbers:
    """Given to an audit as its trace. `writer` may be None; a disk that is full ends the trace and not the run."""

    def __init__(self, writer: TraceWriter | None) -> None:
        self._writer = writer
        self._groups: dict[str, list[list[str]]] = {}
        self._sets: dict[int, frozenset[int]] = {}
        self._lanes: dict[str, Lane] = {}
        self._steps: list[Step] = []  # since somebody asked
        self._skips = 0
        self._late: dict[str, float] = {}  # read from a device after the step that they belong to

    def __call__(self, event: Event, hit: int | None = None) -> None:
        slot = event.slot or ""
        lane = self._lanes.get(slot)
        if lane is None:
            lane = self._lanes[slot] = Lane(slot, 0, self._groups.get(slot, ()), self._sets)
        step = lane.feed(Line(event, None, hit), dict(event.numbers))
        if step is not None:
            self._steps.append(step)
            self._skips += step.skipped
        self._write(lambda writer: writer(event, hit))

    def note(self, line: Mapping[str, object]) -> None:
        fields: dict[str, Any] = dict(line)
        if "optimizer" in fields:
            self._groups[fields["optimizer"]] = fields["groups"]
        elif "set" in fields:
            self._sets[fields["set"]] = frozenset(fields["slots"])
        elif "of" in fields:
            self._late |= dict(numbers_of(fields["numbers"]))
        self._write(lambda writer: writer.note(line))

    def taken(self) -> dict[str, float]:
        """Of the steps since it was last asked; empty if there were none. Skips are counted from the beginning."""
        steps, self._steps = self._steps, []
        if not steps:
            return {}
        norms = [step.numbers["norm"] for step in steps if "norm" in step.numbers]
        norms = norms or [self._late["norm"]] if "norm" in self._late else norms
        told = {
            "stale_share": sum(step.stale_share for step in steps) / len(steps),
            "micro_batches": sum(step.micro_batches for step in steps) / len(steps),
            "skips": float(self._skips),
        }
        return told | ({"gradient_norm": norms[-1]} if norms else {})

    def close(self) -> None:
        self._write(TraceWriter.close)
        self._writer = None

    def _write(self, what: Callable[[TraceWriter], None]) -> None:
        if self._writer is None:
            return
        try:
            what(self._writer)
        except OSError as error:
            writer, self._writer = self._writer, None
            with contextlib.suppress(OSError):
                writer.forget()
            say(f"zerograd: the trace ends here: {error}")
