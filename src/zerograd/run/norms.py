"""Full mode: how large each deposit left the gradients, and where the first number that is none came from.

One norm over all gradients after every backward; of a model of thousands of tensors after every few, and whenever a
loss is not finite. On a CPU it is read at once; on a device when the next one is taken, so that nobody waits for it.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from zerograd.core.events import Site
from zerograd.run.account import Account
from zerograd.run.chronicle import Chronicle
from zerograd.run.deposit import Deposit
from zerograd.run.naming import named
from zerograd.run.values import dense

_AFFORDABLE = 600  # tensors whose norms are taken every time; of five times as many, every sixth time


class NonFinite(NamedTuple):
    """The first gradient that was not finite."""

    step: int
    site: Site
    parameter: str
    loss: float

    def __str__(self) -> str:
        place = f"backward() at {self.site.path}:{self.site.line}"
        which = f"step {self.step + 1}, {self.parameter}, from {place} (loss {self.loss:g})"
        return f"first gradient that is not finite: {which}"


class _Taken(NamedTuple):
    event: int
    deposit: Deposit
    step: int
    parameters: list[Tensor]
    sizes: list[Tensor]
    total: Tensor


class Norms:
    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self.first: NonFinite | None = None
        self._waiting: _Taken | None = None
        self._turn = 0

    def take(self, account: Account, deposit: Deposit) -> tuple[tuple[str, float], ...]:
        """A backward is over. Returns the numbers that are known already."""
        self._turn += 1
        if self._turn % (1 + len(account.slots.ids) // _AFFORDABLE) and (not _on_cpu(deposit) or deposit.finite()):
            return ()
        parameters = [one for one in account.slots.parameters() if one.grad is not None]
        try:
            with torch.no_grad():
                gradients = [dense(one.grad) for one in parameters if one.grad is not None]
                sizes = list(torch._foreach_norm(gradients))
                total = torch.linalg.vector_norm(torch.stack(sizes))
        except Exception:  # sparse, several devices, no gradients: there is no one norm
            return ()
        taken = _Taken(self._chronicle.ordinal, deposit, account.steps, parameters, sizes, total)
        if total.device.type == "cpu":
            return (("norm", self._read(taken)), *_loss(deposit))
        waiting, self._waiting = self._waiting, taken
        if waiting is not None:
            self._read_late(waiting)
        return ()

    def finish(self) -> None:
        """The audit stops."""
        if self._waiting is not None:
            self._read_late(self._waiting)
            self._waiting = None

    def _read_late(self, taken: _Taken) -> None:
        norm = self._read(taken)
        self._chronicle.later(taken.event, (("norm", norm), *_loss(taken.deposit)))

    def _read(self, taken: _Taken) -> float:
        try:
            total = float(taken.total)
        except Exception:  # fake tensors have no values
            return math.nan
        if type(taken.total) is Tensor and self.first is None and not math.isfinite(total):
            bad = [
                one for one, size in zip(taken.parameters, taken.sizes, strict=True) if not math.isfinite(float(size))
            ]
            loss = dict(_loss(taken.deposit)).get("loss", math.nan)
            self.first = NonFinite(taken.step, taken.deposit.site, named(bad), loss)
        return total


def _on_cpu(deposit: Deposit) -> bool:
    return deposit.loss is None or deposit.loss.device.type == "cpu"


def _loss(deposit: Deposit) -> tuple[tuple[str, float], ...]:
    try:
        return () if deposit.loss is None else (("loss", float(deposit.loss)),)
    except Exception:  # fake, meta, or being captured
        return ()
