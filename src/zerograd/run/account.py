"""One optimizer's slots: where each stands, told from what lies in `.grad` at the moments we look.

[Note: looking] Nothing is attached to parameters or gradients. Before and after every backward, and before every step,
we read each `.grad`: is it None, which object is it, which version has it. None -> object means fresh; another version
means that someone wrote into it; gone means cleared. A gradient that was written in place outside backward is cleared
if its value is zero, else it was edited and stays what it was.

Parameters with one past stand in one cohort, so a model of a thousand tensors is moved by one `advance`.
"""

import operator
from collections.abc import Iterable
from itertools import repeat
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.core.judgement import Trail
from zerograd.core.machine import HOLLOW, START, Content, State, advance

_grad = operator.attrgetter("grad")
_NONE = id(None)
# How an optimizer stands is how the worst of its slots that hold something stands; if none does, what became of it.
_ORDER = (Content.MIXED, Content.FRESH, Content.LOST, Content.SPENT, Content.EMPTY, Content.NEW)


class Cohort:
    """Slots with one past."""

    __slots__ = ("members", "state", "trail")

    def __init__(self, members: list[int], state: State, trail: Trail) -> None:
        self.members, self.state, self.trail = members, state, trail


class Look(NamedTuple):
    """What lay in the slots at one moment: the identity and the version of each `.grad`."""

    ids: list[int]
    versions: list[int]

    def differs(self, other: "Look", i: int) -> bool:
        """Whether slot `i` holds something that `other` did not see there."""
        if i >= len(other.ids):
            return True
        return self.ids[i] != other.ids[i] or self.versions[i] != other.versions[i]


class Account:
    def __init__(self, name: str) -> None:
        self.name = name
        self.parameters: list[Tensor] = []
        self.cohorts: list[Cohort] = []
        self._stepped = 0  # parameters that some step has had to do with
        self._seen = Look([], [])

    def adopt(self, optimizer: Optimizer) -> None:
        """Take in the parameters that are new. What already holds a gradient counts as fresh."""
        if sum(len(group["params"]) for group in optimizer.param_groups) == len(self.parameters):
            return
        given = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        known = set(map(id, self.parameters))
        new = [parameter for parameter in given if id(parameter) not in known]
        if not new:
            return
        first = len(self.parameters)
        self.parameters += new
        full = [first + i for i, parameter in enumerate(new) if parameter.grad is not None]
        bare = [first + i for i, parameter in enumerate(new) if parameter.grad is None]
        for members, state in ((full, State(Content.FRESH)), (bare, START)):
            if members:
                self.cohorts.append(Cohort(members, state, Trail(latest=True)))
        self._seen = self._look()

    def newly_stepped(self) -> int:
        """A step begins: how many slots have never been part of one."""
        new, self._stepped = len(self.parameters) - self._stepped, len(self.parameters)
        return new

    # Looking

    def _look(self) -> Look:
        gradients = list(map(_grad, self.parameters))
        ids = list(map(id, gradients))
        missing = sum(map(operator.is_, gradients, repeat(None)))
        if missing == len(ids):
            return Look(ids, [-1] * len(ids))
        return Look(ids, [-1 if gradient is None else _version(gradient) for gradient in gradients])

    def settle(self, cleared_at: Event | None) -> Look:
        """Bring the books up to date: outside backward only clears, edits and assignments can have happened."""
        now, before = self._look(), self._seen
        self._seen = now
        if now == before:
            return now
        gone: list[int] = []
        written: list[int] = []
        assigned: list[int] = []
        for cohort in self.cohorts:
            holds = cohort.state.content not in HOLLOW
            for i in cohort.members:
                if now.ids[i] == _NONE:
                    if holds:
                        gone.append(i)
                elif now.ids[i] != before.ids[i]:
                    assigned.append(i)
                elif holds and now.versions[i] != before.versions[i]:
                    written.append(i)
        gone += self._zeros(written)
        filled = sorted(set(assigned) - set(self._zeros(assigned)))
        gone += [i for i in assigned if before.ids[i] != _NONE]
        clear = cleared_at or Event(Kind.CLEAR, what="the clear")
        self.move(gone, clear)
        # A new object that is not zero is a gradient the user made: gradient surgery, a hand-written reduction.
        self.move(filled, Event(Kind.DEPOSIT, site=None, what="an assignment to .grad"))
        return now

    def confirm_spent(self, cleared_at: Event | None) -> None:
        """Ask the values before anyone is accused: `.grad.data.zero_()` leaves no trace but zeros."""
        spent = [i for cohort in self.cohorts if cohort.state.content is Content.SPENT for i in cohort.members]
        self.move(self._zeros(spent), cleared_at or Event(Kind.CLEAR, what="the clear"))

    def _zeros(self, members: list[int]) -> list[int]:
        held = [(i, gradient) for i in members if (gradient := self.parameters[i].grad) is not None]
        with torch.no_grad():
            return [i for i, gradient in held if not torch.count_nonzero(_dense(gradient))]

    # Moving

    def deposited(self, before: Look, event: Event) -> None:
        """After a backward: every slot that changed was deposited into."""
        now = self._seen = self._look()
        changed = [i for i, found in enumerate(now.ids) if found != _NONE and now.differs(before, i)]
        self.move(changed, event)

    def move(self, members: Iterable[int], event: Event) -> None:
        """Advance these slots. A cohort that is only partly moved is split; cohorts that meet again are joined."""
        moved = set(members)
        if not moved:
            return
        after: list[Cohort] = []
        for cohort in self.cohorts:
            mine = [i for i in cohort.members if i in moved]
            if not mine:
                after.append(cohort)
                continue
            if len(mine) < len(cohort.members):
                after.append(Cohort([i for i in cohort.members if i not in moved], cohort.state, cohort.trail.copy()))
            cohort.trail.follow(cohort.state, event)
            after.append(Cohort(mine, advance(cohort.state, event), cohort.trail))
        self.cohorts = _joined(after)

    def move_all(self, event: Event) -> None:
        self.move(range(len(self.parameters)), event)

    def standing(self) -> tuple[State, Trail]:
        """How the optimizer as a whole stands. Frozen and unused slots excuse nothing and accuse nobody."""
        worst = min(self.cohorts, key=lambda cohort: _ORDER.index(cohort.state.content), default=None)
        return (worst.state, worst.trail) if worst else (START, Trail(latest=True))


def _joined(cohorts: list[Cohort]) -> list[Cohort]:
    """Cohorts in one state become one again; the larger keeps its trail."""
    by_state: dict[State, Cohort] = {}
    for cohort in sorted(cohorts, key=lambda cohort: -len(cohort.members)):
        kept = by_state.setdefault(cohort.state, cohort)
        if kept is not cohort:
            kept.members += cohort.members
    return list(by_state.values())


def _version(gradient: Tensor) -> int:
    # FSDP2's DTensors keep version 0 for ever; the shard they hold does count.
    local = getattr(gradient, "_local_tensor", gradient)
    return int(local._version)


def _dense(gradient: Tensor) -> Tensor:
    local: Tensor = getattr(gradient, "_local_tensor", gradient).detach()
    return local.coalesce().values() if local.is_sparse else local
