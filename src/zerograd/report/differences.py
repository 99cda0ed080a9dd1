"""Ranks are meant to do the same, step by step. Where they do not, which steps, and what each of them did instead."""

from array import array
from itertools import groupby, zip_longest
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.report.lane import Lane
from zerograd.report.walk import Moment

_WORDS = {Kind.CONSUME: "step", Kind.DEPOSIT: "backward", Kind.SPILL: "backward"}
_LONGEST = 24  # events of a step that are told apart


class Signatures:
    """What happened to one optimizer from step to step, each way of doing it under a number."""

    def __init__(self) -> None:
        self.steps: array[int] = array("q")
        self.events: array[int] = array("q")  # the number of the event that was the step
        self.ways: dict[tuple[str, ...], int] = {}
        self._now: list[str] = []

    def add(self, moment: Moment) -> None:
        kind = moment.line.event.kind
        if len(self._now) < _LONGEST:
            self._now.append("skip" if "skipped" in moment.numbers else _WORDS.get(kind, kind.value))
        if moment.step is not None:
            way = tuple(self._now)
            self.steps.append(self.ways.setdefault(way, len(self.ways)))
            self.events.append(moment.number)
            self._now = []

    def told(self, step: int) -> str:
        """What led to this step, in words."""
        if step >= len(self.steps):
            return "no such step"
        way = list(self.ways)[self.steps[step]]
        counted = [(word, len(list(same))) for word, same in groupby(way)]
        return ", ".join(word if count == 1 else f"{count} x {word}" for word, count in counted)


class Difference(NamedTuple):
    slot: str
    lanes: tuple[int, ...]  # their numbers, one of each process
    steps: int  # how many steps differ
    first: int  # the first that does, from 1
    did: tuple[str, ...]  # what each process did there
    events: tuple[int, ...]  # the event of each process that was this step, -1 for none


def differences(lanes: list[Lane], signatures: list[Signatures]) -> list[Difference]:
    """One for each optimizer that several processes have, and that they treat differently."""
    found: list[Difference] = []
    for slot in dict.fromkeys(lane.slot for lane in lanes):
        same = [number for number, lane in enumerate(lanes) if lane.slot == slot]
        ways = [[list(signatures[number].ways)[way] for way in signatures[number].steps] for number in same]
        apart = [step for step, did in enumerate(zip_longest(*ways)) if len(set(did)) > 1] if len(same) > 1 else []
        if apart:
            step = apart[0]
            held = [signatures[number] for number in same]
            events = tuple(one.events[step] if step < len(one.events) else -1 for one in held)
            did = tuple(one.told(step) for one in held)
            found.append(Difference(slot, tuple(same), len(apart), step + 1, did, events))
    return found
