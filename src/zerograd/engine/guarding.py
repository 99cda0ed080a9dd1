"""Refusing what is done to an open Step's slots behind its back.

[Note: marks] After each deposit the gradients themselves and their version counters are remembered; before the next
deposit and before the commit they are compared. A raw `loss.backward()`, a `zero_grad()`, a clip by hand or any other
edit changes one of the two. Holding the tensors, and not their ids, keeps an id from being used again.
"""

import weakref
from collections.abc import Sequence
from operator import attrgetter, is_not
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from zerograd.engine import refusals
from zerograd.engine.slots import Slots

_grad, _version = attrgetter("grad"), attrgetter("_version")


class Guard:
    def __init__(self, optimizers: Sequence[Optimizer]) -> None:
        self._slots: Sequence[Tensor] = ()
        self._left: Sequence[Tensor | None] = ()  # what the last deposit left in each slot
        self._held: list[Tensor] = []  # those that are not None
        self._versions: list[int] = []  # of these
        self._trusted = False
        self._hooks: list[tuple[dict[int, Any], int]] = []  # where each optimizer would find `_refuse`
        for optimizer in optimizers:
            # A wrapper that never called Optimizer.__init__ runs no hooks, and has nowhere to put one.
            hooks = getattr(optimizer, "_optimizer_step_pre_hooks", None)
            if hooks is not None:
                handle = optimizer.register_step_pre_hook(_refuse)
                self._hooks.append((hooks, handle.id))
                # Optimizers outlive Steps: a Step made anew for each epoch must not leave a hook per epoch behind.
                weakref.finalize(self, handle.remove).atexit = False
        self.let_step()

    def open(self, slots: Slots) -> None:
        """The slots are this block's, and empty."""
        self._slots = slots.parameters
        self._left, self._held, self._versions = slots.nothing, [], []
        self._trusted = False
        for hooks, place in self._hooks:
            hooks[place] = _refuse

    def close(self) -> None:
        for hooks, place in self._hooks:
            hooks.pop(place, None)
        self._slots = self._left = ()
        self._held, self._versions = [], []  # let the gradients go

    def refuse_steps(self) -> None:
        """A step of the optimizers would be somebody else's."""
        for hooks, place in self._hooks:
            hooks[place] = _refuse

    def let_step(self) -> None:
        """The optimizers may step: nothing of ours is called inside of that, where it could be struck."""
        for hooks, place in self._hooks:
            hooks.pop(place, None)

    def mark(self, *, trusted: bool | None = None) -> None:
        """What lies in the slots now is the Step's own. See [Note: marks].

        `trusted`: the gradients are views that the Step itself has laid there, each with its own counter.
        """
        self._trusted = self._trusted if trusted is None else trusted
        self._left = self._held = left = list(map(_grad, self._slots))
        try:
            self._versions = list(map(_version, left))
        except AttributeError:  # None has no version. To look for it first would be one more walk through all slots
            self._held = [gradient for gradient in left if gradient is not None]
            self._versions = list(map(_version, self._held))

    def check(self) -> list[Tensor]:
        """The gradients in the slots; refused, unless they are what the last deposit left there."""
        now = list(map(_grad, self._slots))
        if not any(map(is_not, now, self._left)) and list(map(_version, self._held)) == self._versions:
            return self._held
        self._judge(now)
        return [gradient for gradient in now if gradient is not None]

    def _judge(self, now: list[Tensor | None]) -> None:
        cleared = arrived = changed = 0
        versions = iter(self._versions)
        for before, after in zip(self._left, now, strict=True):
            version = None if before is None else next(versions)
            if before is None or after is None:
                cleared += before is not None
                arrived += after is not None
            elif after is not before or after._version != version:
                changed += self._trusted or (_is_its_own(before) and _is_its_own(after))
        if cleared:
            raise refusals.cleared_inside(cleared)
        if arrived:
            raise refusals.foreign_deposit(arrived)
        if changed:
            raise refusals.changed_inside(changed)


def _is_its_own(gradient: Tensor) -> bool:
    """Whether only an edit of this very gradient moves its version.

    DDP's bucket views share one counter and are replaced when buckets are rebuilt; sparse and distributed gradients are
    replaced by torch itself. There only a gradient that comes or goes is told.
    """
    plain = type(gradient) is Tensor and gradient.layout is torch.strided
    return plain and gradient.untyped_storage().nbytes() == gradient.nbytes


def _refuse(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    raise refusals.stepped_inside(type(optimizer).__name__)
