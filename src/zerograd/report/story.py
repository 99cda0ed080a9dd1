"""Everything that a report tells about a run, gathered in one walk through each of its traces."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.core.findings import Finding
from zerograd.report.differences import Difference, Signatures, differences
from zerograd.report.lane import Lane
from zerograd.report.phrasing import in_their_words, phrased
from zerograd.report.quoting import line_of
from zerograd.report.rows import Rows, Shape, shape_of
from zerograd.report.series import Series
from zerograd.report.walk import Moment, Process
from zerograd.trace.coverage import Coverage, together

ROWS = 120_000  # on one page: more are bundled
_NEAR = 40  # events before a finding that stay single, and a few after it
_FIRST = 12  # of each finding: the times whose events stay single
_SHOWN = 64  # of each finding: the times that can be walked through
_STEP = ("loss", "norm", "clipped", "scale", "items", "backward", "step", "rest")


class Told(NamedTuple):
    """A finding of one or several processes."""

    finding: Finding
    times: dict[int, int]  # in each process
    rows: list[tuple[int, int]]  # process and row, of the first times


class Table:
    """Things that are mentioned often, each under a number."""

    def __init__(self) -> None:
        self.known: dict[object, int] = {}

    def __call__(self, thing: object) -> int:
        return -1 if thing is None else self.known.setdefault(thing, len(self.known))


class Story:
    def __init__(self, all_processes: list[Process], *, rows: int = ROWS) -> None:
        self.processes = all_processes
        self.events = sum(process.survey.events for process in all_processes)
        self.size = 1 if self.events <= rows else -(-2 * self.events // rows)  # events to a bundle
        self.sites, self.calls = Table(), Table()
        self.lanes: list[Lane] = []
        self.series: list[dict[str, Series]] = []  # of each lane
        self.rows: list[Rows] = []
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self._signatures: list[Signatures] = []
        for process in all_processes:
            self._read(process)
        self.differences: list[Difference] = differences(self.lanes, self._signatures) if len(all_processes) > 1 else []
        self.told = list(self._tell())
        self.coverage = together(self._covered(number) for number in range(len(all_processes)))

    def _covered(self, number: int) -> Coverage:
        """Of one process. A trace without a word about it has told of every step."""
        said = self.processes[number].survey.coverage
        return said[-1] if said else Coverage(sum(lane.steps for lane in self.lanes if lane.rank == number))

    def _read(self, process: Process) -> None:
        rows = Rows(process.survey.events, size=self.size, kept=_near(process))
        numbers: dict[str, int] = {}
        for moment in process.walk():
            lane = numbers.get(moment.lane.slot)
            if lane is None:
                lane = numbers[moment.lane.slot] = len(self.lanes)
                self.lanes.append(moment.lane)
                self.series.append({})
                self._signatures.append(Signatures())
            self._take(moment, lane, rows)
        self.rows.append(rows)

    def _take(self, moment: Moment, lane: int, rows: Rows) -> None:
        event, numbers, held = moment.line.event, moment.numbers, moment.lane.held
        flags = event.scaled + 2 * ("skipped" in numbers) + 4 * ("again" in numbers)
        # A loop has few shapes of event: each is worked out once.
        key = (lane, event.kind, held, event.site, event.what, moment.line.hit, flags)
        shape = self._shapes.get(key)
        if shape is None:
            sites, calls = self.sites(event.site), self.calls(in_their_words(event.what, moment.lane) or None)
            shape = self._shapes[key] = shape_of(lane, event.kind, held, sites, calls, moment.line.hit, flags)
        rows.add(moment.number, shape, moment.line.at, numbers)
        if len(self.processes) > 1:
            self._signatures[lane].add(moment)
        if moment.step is None:
            return
        series = self.series[lane]
        step = moment.step
        known = {name: step.numbers[name] for name in _STEP if name in step.numbers}
        known |= {"micro": float(step.micro_batches), "stale": step.stale_share, "skipped": float(step.skipped)}
        for name, value in known.items():
            if name not in series:
                series[name] = Series()
            series[name].add(step.number, value)

    def lane_of(self, process: int, row: int) -> int:
        """The number of the lane that a row of a process belongs to."""
        return self.rows[process].lane_of(row)

    def _tell(self) -> Iterator[Told]:
        """A fault that is doubtful the first time and certain from then on is one fault, and certain."""
        merged: dict[tuple[object, ...], Told] = {}
        for number, process in enumerate(self.processes):
            for found in process.survey.found:
                finding = found.finding
                key = (finding.code, finding.site)
                told = merged.get(key, Told(finding, {}, []))
                if key not in merged or finding.certainty.value < told.finding.certainty.value:
                    lane, line = process.lanes.get(found.slot or ""), partial(line_of, header=process.trace.header)
                    told = merged[key] = told._replace(finding=phrased(finding, lane, line))
                told.times[number] = told.times.get(number, 0) + len(found.events)
                shown = found.events[:_SHOWN] if self.rows[number].row else ()
                told.rows.extend((number, self.rows[number].row_at(event)) for event in shown)
                told.rows.sort()
        severity = {"error": 0, "warning": 1, "note": 2}
        yield from sorted(
            merged.values(),
            key=lambda told: (
                told.finding.certainty.value,
                severity[told.finding.severity.value],
                told.finding.code,
                -sum(told.times.values()),
                told.finding.site,
            ),
        )


def _near(process: Process) -> Iterable[int]:
    for found in process.survey.found:
        for event in found.events[:_FIRST]:
            yield from range(max(0, event - _NEAR), event + _NEAR // 4)


def places(story: Story) -> list[Site]:
    """The lines that are mentioned, in the order of their numbers."""
    return [site for site in story.sites.known if isinstance(site, Site)]
