"""One optimizer of one process: where its gradients stand after every event, and what each of its steps consumed."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.machine import HOLLOW, START, Content, Mark, State, advance
from zerograd.trace.reading import Line

# How an optimizer stands is how the worst of its slots that hold something stands; if none does, what became of it.
ORDER = (Content.MIXED, Content.FRESH, Content.SPENT, Content.LOST, Content.EMPTY, Content.NEW)
_RANK = {content: position for position, content in enumerate(ORDER)}
_UNREAD = (Content.FRESH, Content.MIXED)
# What a reader is told beside the contents of the model.
LEAKED = "leaked"  # fresh, with another objective's gradient in it
REFUSED = "refused"  # offered to a step that was skipped: nobody has used it, and nobody will
_DROPPED = ("skip", "rollback", "abort", "torn")  # the clears by which a Step gives up what it cannot use
_MANY = 256  # sets of parameters that are told apart


class Step(NamedTuple):
    """What one step consumed."""

    number: int  # from 1, of its optimizer
    content: Content  # in which it found the gradients
    skipped: bool
    micro_batches: int  # deposits since the last step or clear
    stale: int  # deposits before those, which an earlier step has consumed and nobody has cleared
    numbers: dict[str, float]

    @property
    def stale_share(self) -> float:
        return self.stale / (self.stale + self.micro_batches) if self.stale else 0.0


@dataclass(slots=True, eq=False)
class Part:
    """Parameters with one past."""

    members: frozenset[int]
    state: State = START
    fed: int = 0  # deposits
    used: int = 0  # steps that read something of theirs no step had read
    starved: int = 0  # steps that found nothing new
    lost: int = 0  # clears of what no step had read


@dataclass(slots=True)
class _Window:
    """Since the last step."""

    micro_batches: int = 0
    stale: int = 0
    losses: list[tuple[float, bool]] = field(default_factory=list)  # and whether a loss scale is multiplied into it
    items: float = 0.0
    backward: float = 0.0
    numbers: dict[str, float] = field(default_factory=dict)


class Lane:
    def __init__(
        self, slot: str, rank: int, groups: Sequence[Sequence[str]], sets: dict[int, frozenset[int]],
        *, leaks: frozenset[Site] = frozenset(), called: str = "", shared: bool = False,
    ) -> None:  # fmt: skip
        """`leaks`: the backwards that belong to another objective, as the run has proved.

        `called`: the optimizer, by the program. `shared`: so it calls others as well, one after the other.
        """
        self.slot, self.rank, self.groups, self._sets, self._leaks = slot, rank, groups, sets, leaks
        self.called, self._shared = called, shared
        self.names = [name for group in groups for name in group]
        self.parts = [Part(frozenset(range(len(self.names))))]
        self.content = Content.NEW
        self.steps = self.deposits = self.clears = 0
        self.skipped = 0  # steps that a scaler kept from consuming
        self.dropped = 0  # blocks that a Step gave up before they came to one, because of what was not finite
        self.lost = 0  # deposits that were cleared before any step used them
        self.consumed = dict.fromkeys(Content, 0)  # how often a step found each content
        self._window = _Window()
        self._refused = self._dropped = False
        self._stepped: Site | None = None  # where it did first
        self._ended: int | None = None  # when the last step was over
        self._meets: dict[tuple[frozenset[int], int], frozenset[int]] = {}

    def sees(self, line: Line) -> Line:
        """The event as it is to this optimizer: another objective's backward is no deposit of its own."""
        if self._leaks and line.event.site in self._leaks and line.event.kind is Kind.DEPOSIT:
            return line._replace(event=line.event._replace(kind=Kind.SPILL))
        return line

    def feed(self, line: Line, numbers: dict[str, float]) -> Step | None:
        """Where the optimizer stands after this event is in `content`. Returns a step, if it was one."""
        kind = line.event.kind
        before = self.content
        for part in self._hit(line.hit):
            _count(part, kind)
            part.state = advance(part.state, line.event)
        parts = self.parts
        self.content = (
            parts[0].state.content
            if len(parts) == 1
            else min((part.state.content for part in parts), key=_RANK.__getitem__)
        )
        if kind is Kind.CONSUME:
            return self._step(line, before, numbers)
        self._note(kind, line, numbers)
        return None

    @property
    def title(self) -> str:
        """As the program calls it; else its class, its number, and the line that steps it."""
        if self.called:
            return f"{self.called} #{self.slot.rpartition('#')[2]}" if self._shared else self.called
        site = self._stepped
        return f"{self.slot} at {os.path.basename(site.path)}:{site.line}" if site else self.slot

    @property
    def family(self) -> str:
        """Its class."""
        return self.slot.partition("#")[0]

    @property
    def held(self) -> str:
        """What a reader is told to lie there."""
        if self.content is Content.SPENT and self._refused:
            return REFUSED
        if self.content is Content.LOST and self._dropped:
            return Content.EMPTY.value
        return LEAKED if self._leaks and self._leaked() else self.content.value

    @property
    def skips(self) -> int:
        return self.skipped + self.dropped

    @property
    def unused(self) -> int:
        """Deposits that no step has used: cleared before, or left at the end."""
        return self.lost + (self._window.micro_batches if self.content in _UNREAD else 0)

    def _leaked(self) -> bool:
        """Whether another objective's gradient lies among what no step has used."""
        return any(Mark.SPILLED in part.state.marks and part.state.content in _UNREAD for part in self.parts)

    def _hit(self, hit: int | None) -> list[Part]:
        if hit is None or hit not in self._sets or not self.names:
            return self.parts
        touched: list[Part] = []
        for part in list(self.parts):
            key = (part.members, hit)
            mine = self._meets.get(key)
            if mine is None:
                mine = self._meets[key] = part.members & self._sets[hit]
            if not mine:
                continue
            if len(mine) != len(part.members) and len(self.parts) < _MANY:
                rest = Part(part.members - mine, part.state, part.fed, part.used, part.starved, part.lost)
                self.parts.append(rest)
                part.members = mine
            touched.append(part)
        return touched

    def _note(self, kind: Kind, line: Line, numbers: dict[str, float]) -> None:
        window = self._window
        if kind in (Kind.DEPOSIT, Kind.SPILL) and "again" not in numbers:
            self.deposits += 1
            window.micro_batches += 1
            window.backward += numbers.get("took", 0.0)
            window.items += numbers.get("items", 0.0)
            if "loss" in numbers:
                window.losses.append((numbers["loss"], line.event.scaled))
            if "norm" in numbers:
                window.numbers["norm"] = numbers["norm"]
                window.numbers.pop("limit", None)
                window.numbers["scaled"] = float(line.event.scaled)
        elif kind is Kind.CLIP and "norm" in numbers:
            window.numbers |= {"norm": numbers["norm"], "limit": numbers.get("limit", float("inf")), "scaled": 0.0}
        elif kind is Kind.CLEAR:
            self.clears += 1
            self.dropped += line.event.what == "skip"
            self._dropped = line.event.what in _DROPPED
            if self.content in HOLLOW:
                self.lost += window.micro_batches if self.content is Content.LOST and not self._dropped else 0
                window.micro_batches = window.stale = 0
                window.losses.clear()
                window.items = 0.0

    def _step(self, line: Line, found: Content, numbers: dict[str, float]) -> Step:
        window, skipped = self._window, bool(numbers.get("skipped"))
        self.steps += 1
        self.skipped += skipped
        self._refused = skipped
        self._stepped = self._stepped or line.event.site
        self.consumed[found] += 1
        known: dict[str, float] = {"scale": numbers["scale"]} if "scale" in numbers else {}
        if window.losses:
            divisor = known.get("scale") or 1.0
            losses = [loss / divisor if scaled else loss for loss, scaled in window.losses]
            known["loss"] = sum(losses) / len(losses)
        if "norm" in window.numbers:
            norm = window.numbers["norm"]
            if window.numbers.get("scaled") and known.get("scale"):
                norm /= known["scale"]
            known |= {"norm": norm, "clipped": min(norm, window.numbers.get("limit", norm))}
        if window.items:
            known["items"] = window.items
        known |= self._times(line, numbers)
        step = Step(self.steps, found, skipped, window.micro_batches, window.stale, known)
        self._window = _Window(stale=window.stale + window.micro_batches if self.content not in HOLLOW else 0)
        return step

    def _times(self, line: Line, numbers: dict[str, float]) -> dict[str, float]:
        """Seconds: in backward, in the step, and in everything else since the last step."""
        if line.at is None:
            return {}
        before, self._ended = self._ended, line.at
        if before is None or "took" not in numbers:
            return {}
        whole, backward, step = (line.at - before) / 1e6, self._window.backward, numbers["took"]
        return {"backward": backward, "step": step, "rest": max(0.0, whole - backward - step)}


def _count(part: Part, kind: Kind) -> None:
    content = part.state.content
    if kind in (Kind.DEPOSIT, Kind.SPILL):
        part.fed += 1
    elif kind is Kind.CONSUME:
        if content in _UNREAD:
            part.used += 1
        else:
            part.starved += 1
    elif kind is Kind.CLEAR and content in _UNREAD:
        part.lost += 1
