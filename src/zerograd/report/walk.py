"""The way through a trace that every report takes: each event with where its optimizer stood before and after."""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.ledger import Ledger
from zerograd.errors import UsageError
from zerograd.report.lane import Lane, Step
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule
from zerograd.rules.telling import tell
from zerograd.trace.reading import Line, Opened, opened
from zerograd.trace.survey import Found, Survey, survey

_NOBODY = "an optimizer"  # whose events name none


class Moment(NamedTuple):
    number: int  # of the event in its trace, from 0
    line: Line
    numbers: dict[str, float]
    lane: Lane
    before: str  # what lay there, as it is told
    step: Step | None  # what it consumed, if it was a step


class Process:
    """The trace of one process, and the lanes that walking through it has filled."""

    def __init__(self, trace: Opened, number: int) -> None:
        self.trace = trace
        self.survey: Survey = survey(trace)
        if not trace.header.get("findings"):  # of a Step, which judges nobody
            self.survey = self.survey._replace(found=_judged(trace))
        self.rank: int | None = _number(trace.header.get("rank"))
        self.number = number
        self.lanes: dict[str, Lane] = {}

    @property
    def name(self) -> str:
        return f"rank {self.rank}" if self.rank is not None else f"process {self.trace.header.get('pid', self.number)}"

    def _leaks(self, slot: str) -> frozenset[Site]:
        """The lines that another objective's backward stands in, as far as this optimizer was found to consume it."""
        mine = [found.finding for found in self.survey.found if found.finding.code == "ZG005" and found.slot == slot]
        return frozenset(related.site for one in mine for related in one.related if related.message == "left here")

    def walk(self) -> Iterator[Moment]:
        self.lanes = {}
        late, called = self.survey.late, self.survey.called
        names = [name for name in called.values() if name]
        for number, line in enumerate(self.trace.events()):
            slot = line.event.slot or _NOBODY
            lane = self.lanes.get(slot)
            if lane is None:
                lane = self.lanes[slot] = Lane(
                    slot,
                    self.number,
                    self.survey.groups.get(slot, ()),
                    self.survey.sets,
                    leaks=self._leaks(slot),
                    called=(name := called.get(slot, "")),
                    shared=names.count(name) > 1,
                )
            numbers = dict(line.event.numbers)
            if number in late:
                numbers |= late[number]
            before, line = lane.held, lane.sees(line)
            step = lane.feed(line, numbers)
            yield Moment(number, line, numbers, lane, before, step)


def processes(paths: Sequence[str | Path], *, run: str = "") -> list[Process]:
    """The traces behind these files and folders, in the order of their ranks. `run`: only those that name it."""
    traces = [trace for path in paths for trace in _traces(Path(path)) if not run or trace.header.get("run") == run]
    if not traces:
        raise UsageError(
            f"no trace in {', '.join(map(str, paths))}",
            cure="Write one: zerograd run --trace FOLDER SCRIPT.",
            slug="not-a-trace",
        )
    traces.sort(key=lambda trace: (_number(trace.header.get("rank")) or 0, _number(trace.header.get("began")) or 0))
    return [Process(trace, number) for number, trace in enumerate(traces)]


def _traces(path: Path) -> Iterator[Opened]:
    if not path.is_dir():
        yield opened(path)
        return
    for file in sorted(path.glob("*.jsonl")):
        try:
            yield opened(file)
        except UsageError:
            continue  # a folder may hold other things


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _judged(trace: Opened) -> list[Found]:
    """What the lifecycle rules say about the events alone."""
    ledger: Ledger[Rule] = Ledger(laws=REGISTRY.values())
    found: dict[tuple[object, ...], Found] = {}
    for number, line in enumerate(trace.events()):
        event = line.event
        if event.kind in (Kind.CONSUME, Kind.CLIP, Kind.UNSCALE, Kind.CLEAR, Kind.DEPOSIT):
            for slot, verdict in ledger.judge(event):
                finding = tell(verdict, ledger.trail(slot))
                key = (finding.code, finding.site, finding.certainty)
                found.setdefault(key, Found(finding, array("q"))).events.append(number)
        ledger.post(event)
    return list(found.values())
