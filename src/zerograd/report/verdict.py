"""What came of a run, in one sentence."""

from typing import NamedTuple

from zerograd.core.findings import Certainty
from zerograd.report.printable import printable
from zerograd.report.story import Story, Told

_DID = {
    "ZG001": "used gradients that an earlier step had already used",
    "ZG002": "found their gradients cleared before they could use them",
    "ZG003": "had nothing to consume",
    "ZG004": "used the same gradients a second time",
    "ZG005": "used gradients that another objective had left there",
    "ZG006": "used old gradients that the clear does not reach",
    "ZG007": "used what a broken iteration had left there",
}


class Verdict(NamedTuple):
    tone: str  # "good", "bad", "note" or "none"
    sentence: str
    also: str = ""  # a second, smaller one


def verdict(story: Story) -> Verdict:
    steps = sum(lane.steps for lane in story.lanes)
    faults = [told for told in story.told if told.finding.fails]
    hidden = len(story.told) - len(faults)
    also = f"{_many(hidden, 'note or possible fault')} below." if hidden else ""
    if not steps and not faults:
        return Verdict("none", "No optimizer stepped in this trace, so nothing was consumed.", also)
    noted = next((told.finding for told in story.told if told.finding.certainty is Certainty.CERTAIN), None)
    if not faults and noted is not None:
        lost = sum(lane.lost for lane in story.lanes)
        wasted = f" ({lost:,} of {_many(sum(lane.deposits for lane in story.lanes), 'backward')})" if lost else ""
        what = "No step used a wrong gradient, but"
        said = printable(noted.message.partition(";")[0])
        return Verdict("note", f"{what} {said}{wasted if noted.code == 'ZG102' else ''}.")
    doubted = sum(told.finding.certainty is Certainty.POSSIBLE for told in story.told)
    if not faults and doubted:
        return Verdict(
            "note", f"Nothing is certain in {_many(steps, 'step')}: {_many(doubted, 'possible fault')} below."
        )
    if not faults:
        skips = sum(lane.skips for lane in story.lanes)
        skipped = f" ({skips:,} skipped: not finite)" if skips else ""
        sentence = (
            f"Every gradient accounted for: {_many(steps, 'step')}{skipped}, each with what was deposited for it."
        )
        return Verdict("good", sentence, also)
    return Verdict("bad", _sentence(story, faults[0]), _others(faults[1:]) or also)


def _sentence(story: Story, told: Told) -> str:
    finding = told.finding
    if finding.code not in _DID:
        return printable(f"{finding.message[:1].upper()}{finding.message[1:].partition(';')[0]}.")
    lanes = {story.lane_of(process, row) for process, row in told.rows}
    concerned = [lane for number, lane in enumerate(story.lanes) if number in lanes]
    names = printable(", ".join(dict.fromkeys(lane.slot.partition("#")[0] for lane in concerned)), longest=80)
    times, steps = sum(told.times.values()), sum(lane.steps for lane in concerned)
    several = len(story.processes) > 1
    ranks = f" on {', '.join(printable(story.processes[number].name, longest=40) for number in told.times)}"
    whose = f"{f' of {names}' if names else ''}{ranks if several else ''}"
    return f"{times:,} of {_many(max(steps, times), 'step')}{whose} {_DID[finding.code]}."


def _others(faults: list[Told]) -> str:
    names = dict.fromkeys(f"{told.finding.code} {told.finding.name}" for told in faults)
    return printable(f"Also: {', '.join(names)}.") if names else ""


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
