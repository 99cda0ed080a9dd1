"""Leaves that no optimizer holds and a hand updates by their gradient: it has to be cleared there as well (ZG001).

Weights written as plain tensors, the perturbation of an attack, a patch. A write to such a leaf between two backwards
is an update if it moved the leaf along the gradient that lies there, or along its signs; whatever else moves a leaf is
none: an average of weights, a projection, a load. If the next backward adds to that very gradient, nobody has cleared
it. That is a fault when it happens again and again.

Asked are leaves that live as long as the loop; what is made anew for each batch has a gradient of its own. Gradients
that vanish, are replaced or written into end the question until the next update.
"""

import math
from collections.abc import Sequence
from weakref import ref

import torch
from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.rules.telling import note
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.graph import Survey
from zerograd.run.naming import named
from zerograd.run.sites import names_in, user_frame
from zerograd.run.values import Likeness, Sample, compared, sample

_HABIT = 2  # updates in a row behind which the same gradient grew
_ASKED = 8  # backwards of a line in a row that show nothing: it is asked no more
_SEVERAL = 4  # numbers that are moved alike by no chance
_LIKE = 1e-2
_FEW = 8  # leaves of one line; of more it can hardly be a hand that updates each
_SAID = "{deposit} adds to the gradient of {leaf}, which an update by hand has already used"
_CURE = "set .grad to None right after the update: no optimizer holds this tensor, so no zero_grad() clears it"


class _Leaf:
    """`left`: its gradient as the last backward left it, and the leaf as it was then."""

    def __init__(self, leaf: Tensor) -> None:
        self.leaf = ref(leaf)
        self.gradient: ref[Tensor] | None = None
        self.left: tuple[Sample | None, Sample | None] = (None, None)
        self.factor: float | None = None  # by which the gradient was multiplied in the last update
        self.stale = 0  # backwards in a row that added to what an update had used

    def used(self) -> bool:
        """A backward begins. Whether the leaf was moved along its gradient, and that still lies there."""
        leaf = self.leaf()
        gradient = None if leaf is None else leaf.grad
        if leaf is None or gradient is None or self.gradient is None or self.gradient() is not gradient:
            return False
        with torch.no_grad():
            now, moved = sample({0: gradient}), sample({0: leaf.detach()})
        (kept, before), known = self.left, self.factor
        self.factor = None
        if compared(kept, now).get(0) is not Likeness.SAME:
            return False
        self.factor, several = _factor(before, moved, now)
        if self.factor is None:
            return False
        # One number is a multiple of any other: there it is an update if it is the same multiple again.
        return several or (known is not None and math.isclose(known, self.factor, rel_tol=_LIKE))

    def deposited(self) -> None:
        """A backward is over."""
        leaf = self.leaf()
        gradient = None if leaf is None else leaf.grad
        if leaf is None or gradient is None:
            self.gradient, self.left = None, (None, None)
            return
        self.gradient = ref(gradient)
        with torch.no_grad():
            self.left = _copied(sample({0: gradient})), _copied(sample({0: leaf.detach()}))


class Leaves(Detector):
    codes = ("ZG001",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._lines: dict[Site, dict[int, _Leaf]] = {}
        self._quiet: dict[Site, int] = {}  # backwards in a row that showed nothing

    def surveyed(self, site: Site, found: Survey) -> None:
        """The graph of a line's loss was walked."""
        reached = found.reached() if self.rules else []
        known = self._lines.get(site, {})
        self._lines[site] = {id(one): known.get(id(one)) or _Leaf(one) for one in reached[: _FEW + 1]}
        if len(reached) > _FEW:
            del self._lines[site]

    def done_with(self, site: Site) -> bool:
        return not self._lines.get(site)

    def gap(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._lines.clear()

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        leaves = self._lines.get(deposit.site)
        if not leaves:
            return
        used = []
        for one in leaves.values():
            one.stale = one.stale + 1 if one.used() else 0
            used += [leaf for leaf in [one.leaf()] if leaf is not None and one.stale >= _HABIT]
        if used:
            self._say(deposit, used)
        quiet = self._quiet[deposit.site] = self._quiet.get(deposit.site, 0) + 1
        if any(one.stale for one in leaves.values()):
            self._quiet[deposit.site] = 0
        elif quiet >= _ASKED:
            leaves.clear()

    def consuming(self, account: Account, step: Event) -> None:
        """A gradient that an optimizer's own parameters share moves the leaf by that step, and not by hand (ZG305)."""
        leaves = [one for its in self._lines.values() for one in its.values() if one.gradient is not None]
        if leaves:
            taken = {id(one.grad) for one in account.slots.parameters() if one.grad is not None}
            for one in leaves:
                if one.gradient is not None and id(one.gradient()) in taken:
                    one.gradient = None

    def deposited(self, deposit: Deposit, accounts: Sequence[Account]) -> None:
        for leaf in self._lines.get(deposit.site, {}).values():
            leaf.deposited()

    def _say(self, deposit: Deposit, used: list[Tensor]) -> None:
        rule = self.rules.get("ZG001")
        if rule is None:
            return
        told = note(rule, deposit.site, certain=True, step="", clearing="")
        said = _SAID.format(deposit=deposit.event.what, leaf=_called(used))
        self._report(told._replace(message=said, cure=_CURE))


def _called(leaves: list[Tensor]) -> str:
    """By the user's own names, if the frame that runs has some."""
    wanted = {id(one) for one in leaves}
    names = list(names_in(user_frame(), lambda value: id(value) in wanted))
    return ", ".join(names) if len(names) == len(leaves) else named(leaves)


def _factor(before: Sample | None, after: Sample | None, gradient: Sample | None) -> tuple[float | None, bool]:
    """Which multiple of its gradient, or of the signs, a leaf was moved by, as far as it has moved; None if by no one.

    And whether several numbers say so.
    """
    if before is None or after is None or gradient is None:
        return None, False
    try:
        moved, along = after.values.double() - before.values.double(), gradient.values.double()
        held = moved != 0
        if moved.shape != along.shape or not bool(held.any()):
            return None, False
        ways = (_multiple(moved[held], way[held]) for way in (along, along.sign()))
        return next((one for one in ways if one is not None), None), int(held.sum()) >= _SEVERAL
    except Exception:  # complex numbers, fake tensors, nothing that can be read
        return None, False


def _multiple(moved: Tensor, way: Tensor) -> float | None:
    peak = int(way.abs().argmax())
    factor = float(moved[peak] / way[peak]) if float(way[peak]) else 0.0
    close = bool(factor) and torch.allclose(moved, way * factor, rtol=_LIKE, atol=1e-3 * float(moved.abs().max()))
    return factor if close else None


def _copied(taken: Sample | None) -> Sample | None:
    """A sample of one tensor may be that tensor itself, which goes on to change."""
    return None if taken is None else taken._replace(values=taken.values.clone())
