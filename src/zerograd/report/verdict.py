"""What came of a run: the cause in one sentence, what to do about it, and how much of the run it concerns."""

from typing import NamedTuple

from zerograd.core.findings import Certainty, Finding
from zerograd.core.tally import tally
from zerograd.report.phrasing import placed
from zerograd.report.printable import printable
from zerograd.report.story import Story, Told
from zerograd.trace.coverage import Coverage

_LONGEST = 400
# The rules that are judged at every step; what others find is said once, however often it happens.
_EVERY_STEP = frozenset({"ZG001", "ZG002", "ZG003", "ZG004", "ZG005", "ZG006", "ZG007", "ZG201", "ZG202"})
_ARTICLES = ("a", "an", "every", "something", "the")


class Verdict(NamedTuple):
    tone: str  # "good", "part" (not all of it was audited), "bad", "note" (certain, no fault), "possible" or "none"
    sentence: str
    edit: str = ""  # what to change
    also: str = ""  # how often, and what else there is


def verdict(story: Story) -> Verdict:
    steps = sum(lane.steps for lane in story.lanes)
    worst = story.told[0] if story.told else None
    everything = f"In all: {closing(story)}" if story.told[1:] else ""
    rest = _sentences(everything, _left_out(story.coverage)).rstrip(".")
    if worst is None and not story.coverage.whole:
        return Verdict("part", _in_part(story.coverage))
    if worst is None:
        return Verdict("good", _accounted(story, steps)) if steps else Verdict("none", _NOTHING)
    finding = worst.finding
    edit = printable(finding.cure, longest=_LONGEST)
    if finding.fails:
        return Verdict("bad", _cause(finding), edit, _sentences(_share(story, worst), rest))
    if finding.certainty is Certainty.CERTAIN:
        unused = sum(lane.unused for lane in story.lanes) if finding.code == "ZG102" else 0
        backwards = _many(sum(lane.deposits for lane in story.lanes), "backward")
        sentence = f"{unused:,} of {backwards} were never used: {placed(finding)}." if unused else _cause(finding)
        return Verdict("note", printable(sentence, longest=_LONGEST), edit, _sentences(_right(steps), rest))
    return Verdict("possible", f"Possible fault: {_cause(finding)}", edit, _sentences(_UNPROVED, _right(steps), rest))


def _in_part(coverage: Coverage) -> str:
    """The headline of a run in which nothing is wrong as far as anyone has looked."""
    found = "nothing was found in them" if coverage.audited else "no gradient is accounted for"
    return f"{coverage.share} {'was' if coverage.steps == 1 else 'were'} audited, and {found}; {coverage.why}."


def _left_out(coverage: Coverage) -> str:
    return "" if coverage.whole else f"{coverage.share} were audited; {coverage.why}"


_NOTHING = "No optimizer stepped in this trace, so no gradients were used."
_UNPROVED = "This run does not prove it: check whether it is intended"


def closing(story: Story) -> str:
    """How many findings of each kind, in the words that every front end closes with."""
    return tally(told.finding for told in story.told)


def _cause(finding: Finding) -> str:
    said = placed(finding)
    if said.partition(" ")[0] in _ARTICLES:  # else it is the program's own name for something, and stays as it is
        said = f"{said[:1].upper()}{said[1:]}"
    return printable(said, longest=_LONGEST) + "."


def _accounted(story: Story, steps: int) -> str:
    skips = sum(lane.skips for lane in story.lanes)
    if not skips:
        return f"Every gradient accounted for: {_many(steps, 'step')}, each used the gradients computed for it."
    used = steps - sum(lane.skipped for lane in story.lanes)
    whose = f"{_many(used, 'step')} used the gradients computed for {'it' if used == 1 else 'them'}"
    were = f"{skips:,} {'was' if skips == 1 else 'were'} skipped (not finite)"
    return f"Every gradient accounted for: {whose}, {were}."


def _share(story: Story, told: Told) -> str:
    """How many steps of whom."""
    lanes = {story.lane_of(process, row) for process, row in told.rows}
    concerned = [lane for number, lane in enumerate(story.lanes) if number in lanes]
    names = printable(", ".join(dict.fromkeys(lane.title for lane in concerned)), longest=80)
    times, steps = sum(told.times.values()), sum(lane.steps for lane in concerned)
    ranks = f" on {', '.join(printable(story.processes[number].name, longest=40) for number in told.times)}"
    whose = f"{f' of {names}' if names else ''}{ranks if len(story.processes) > 1 else ''}"
    if told.finding.code not in _EVERY_STEP:
        return f"Found in a run of {_many(steps, 'step')}{whose}" if steps else ""
    return f"It happened in {times:,} of {_many(max(steps, times), 'step')}{whose}"


def _right(steps: int) -> str:
    return f"No step is known to have used wrong gradients ({_many(steps, 'step')})"


def _sentences(*parts: str) -> str:
    return " ".join(f"{part}." for part in parts if part)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
