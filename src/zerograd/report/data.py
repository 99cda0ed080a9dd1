"""A story as the page and other programs read it: plain numbers, lists and text, every text printable."""

from collections.abc import Sequence
from datetime import UTC, datetime

from zerograd.core.events import Event, Kind
from zerograd.core.findings import Finding
from zerograd.core.machine import HOLLOW, Content, State, advance
from zerograd.report.lane import Lane, Part
from zerograd.report.printable import printable
from zerograd.report.quoting import excerpts
from zerograd.report.rows import CONTENTS, KINDS
from zerograd.report.story import Story, Told, places
from zerograd.report.verdict import verdict
from zerograd.report.walk import Process
from zerograd.rules import REGISTRY

VERSION = 1
_AS_CONTENT = [*Content, Content.FRESH, Content.SPENT]  # in the order of CONTENTS: leaked is fresh, refused is spent
_NAMED = 40  # parameters of one kind that are named


def data(story: Story) -> dict[str, object]:
    return {
        "version": VERSION,
        "verdict": verdict(story)._asdict(),
        "coverage": {"steps": story.coverage.steps, "unaudited": dict(story.coverage.unaudited)},
        "kinds": KINDS,
        "contents": CONTENTS,
        "moves": _moves(),
        "events": story.events,
        "bundle": story.size,
        "sites": [[printable(site.path), site.line, site.cell] for site in places(story)],
        "calls": [printable(call) for call in story.calls.known],
        "processes": [_process(story, number) for number in range(len(story.processes))],
        "lanes": [_lane(story, number) for number in range(len(story.lanes))],
        "findings": [_finding(story, told) for told in story.told],
        "differences": [
            {**one._asdict(), "slot": printable(one.slot), "rows": _rows_of(story, one.lanes, one.events)}
            for one in story.differences
        ],
    }


def _moves() -> list[list[int]]:
    """Where each kind of event leads from each content: the page follows single parameters with it."""
    return [
        [CONTENTS.index(advance(State(content), Event(kind)).content.value) for content in _AS_CONTENT] for kind in Kind
    ]


def _process(story: Story, number: int) -> dict[str, object]:
    process, rows = story.processes[number], story.rows[number]
    header = process.trace.header
    return {
        "name": printable(process.name, longest=40),
        "script": printable(header.get("script", "")),
        "mode": printable(header.get("mode", "")),
        "began": _day(header.get("began")),
        "events": process.survey.events,
        "path": printable(process.trace.path),
        "shapes": [list(shape) for shape in rows.shapes],
        "sets": _sets(process),
        "rows": rows.columns(),
    }


def _sets(process: Process) -> list[list[int]]:
    return [_ranges(sorted(process.survey.sets[number])) for number in sorted(process.survey.sets)]


def _ranges(members: Sequence[int]) -> list[int]:
    """Pairs of the first and the last of every run of numbers."""
    pairs: list[int] = []
    for member in members:
        if pairs and pairs[-1] == member - 1:
            pairs[-1] = member
        else:
            pairs += [member, member]
    return pairs


def _day(began: object) -> str:
    if not isinstance(began, int):
        return ""
    try:
        return datetime.fromtimestamp(began / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def _lane(story: Story, number: int) -> dict[str, object]:
    lane = story.lanes[number]
    return {
        "slot": printable(lane.slot),
        "title": printable(lane.title, longest=80),
        "family": printable(lane.family, longest=40),
        "process": lane.rank,
        "steps": lane.steps,
        "deposits": lane.deposits,
        "clears": lane.clears,
        "skips": lane.skips,
        "lost": lane.lost,
        "unused": lane.unused,
        "consumed": [lane.consumed[content] for content in Content],
        "groups": [len(group) for group in lane.groups],
        "parts": [_part(lane, part) for part in sorted(lane.parts, key=lambda part: min(part.members, default=0))],
        "series": {name: series.columns() for name, series in story.series[number].items()},
    }


def _part(lane: Lane, part: Part) -> dict[str, object]:
    members = sorted(part.members)
    names = [printable(lane.names[member]) for member in members[:_NAMED]]
    counts = {"fed": part.fed, "used": part.used, "starved": part.starved, "lost": part.lost}
    return {"members": _ranges(members), "size": len(members), "names": names, "fate": _fate(lane, part), **counts}


def _fate(lane: Lane, part: Part) -> str:
    """What becomes of the gradients of these parameters, all in all."""
    if not lane.steps or not part.members:
        return ""
    if not part.fed:
        return "never gets a gradient"
    if not part.used:
        return "always loses its gradient" if part.lost else "gets gradients that no step uses"
    if part.state.content not in HOLLOW and part.used > 1 and lane.consumed[Content.MIXED] >= lane.steps - 1 > 0:
        return "is never cleared"
    return ""


def _finding(story: Story, told: Told) -> dict[str, object]:
    finding = told.finding
    rule = REGISTRY.get(finding.code)
    return {
        "code": printable(finding.code),
        "name": printable(finding.name),
        "message": printable(finding.message, longest=900),
        "cure": printable(finding.cure, longest=900),
        "why": printable(rule.explanation.strip().partition("\n\n")[0].replace("\n", " "), longest=900) if rule else "",
        "severity": finding.severity.value,
        "certainty": finding.certainty.value,
        "fails": finding.fails,
        "path": printable(finding.site.path),
        "line": finding.site.line,
        "cell": finding.site.cell,
        "times": [told.times.get(number, 0) for number in range(len(story.processes))],
        "rows": [list(row) for row in told.rows],
        "related": [[printable(one.site.path), one.site.line, printable(one.message)] for one in finding.related],
        "source": _source(story, finding, told),
    }


def _source(story: Story, finding: Finding, told: Told) -> list[dict[str, object]]:
    header = story.processes[min(told.times)].trace.header
    return [
        {
            "path": printable(one.path),
            "changed": one.changed,
            "lines": [[number, printable(text), printable(role)] for number, text, role in one.lines],
        }
        for one in excerpts(finding, header)
    ]


def _rows_of(story: Story, lanes: Sequence[int], events: Sequence[int]) -> list[list[int]]:
    pairs = zip(lanes, events, strict=True)
    return [
        [story.lanes[lane].rank, story.rows[story.lanes[lane].rank].row_at(event)]
        for lane, event in pairs
        if event >= 0
    ]
