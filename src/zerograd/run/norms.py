"""Full mode: how large each deposit left the gradients, and where the first number that is none came from.

One norm over all gradients after every backward; of a model of thousands of tensors after every few, and whenever a
loss is not finite. On a CPU it is read at once; on a device when it has come, so that nobody waits for it.
"""

import contextlib
import math
from typing import NamedTuple

import torch
from torch import Tensor

from zerograd.core.events import Site
from zerograd.run.account import Account
from zerograd.run.chronicle import Chronicle
from zerograd.run.deposit import is_finite
from zerograd.run.naming import named
from zerograd.run.posted import Post

_AFFORDABLE = 600  # tensors whose norms are taken every time; of five times as many, every sixth time
_LAUNCHED = 40  # the same on a device: it reads them while the host goes on, but each has to be asked for


class NonFinite(NamedTuple):
    """The first gradient that was not finite."""

    step: int
    site: Site
    parameter: str
    loss: float
    unmeasured: int  # backwards before it of which nobody knows

    def __str__(self) -> str:
        place = f"backward() at {self.site.path}:{self.site.line}"
        which = f"step {self.step + 1}, {self.parameter}, from {place} (loss {self.loss:g})"
        doubt = f"; the {'one' if self.unmeasured == 1 else self.unmeasured} before it not measured"
        return f"first gradient that is not finite: {which}{doubt if self.unmeasured else ''}"


class _Taken(NamedTuple):
    event: int
    loss: Tensor | None
    site: Site
    step: int
    filled: list[Tensor]
    sizes: list[Tensor]
    total: Tensor
    unmeasured: int


class Norms:
    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self.first: NonFinite | None = None
        self._post = Post()
        self._unmeasured = 0  # backwards since the last one that was

    def take(
        self, account: Account, loss: Tensor | None, site: Site, *, ticked: int = 0
    ) -> tuple[tuple[str, float], ...]:
        """A backward is over. Returns the numbers that are known already.

        `ticked`: steps that the account has not been told of.
        """
        on_cpu = loss is None or loss.device.type == "cpu"
        rest = len(account.slots.ids) // (_AFFORDABLE if on_cpu else _LAUNCHED)
        if self._unmeasured < rest and not (on_cpu and not is_finite(loss)):
            self._unmeasured += 1
            return ()
        unmeasured, self._unmeasured = self._unmeasured, 0
        filled, gradients = account.slots.filled()
        try:
            with torch.no_grad():
                sizes = list(torch._foreach_norm(gradients))
                total = torch.linalg.vector_norm(torch.stack(sizes))
        except Exception:  # sparse, several devices, no gradients: there is no one norm
            return ()
        step = account.steps + ticked
        taken = _Taken(self._chronicle.ordinal, loss, site, step, filled, sizes, total, unmeasured)
        if total.device.type == "cpu":
            with contextlib.suppress(Exception):  # fake tensors have no values
                return self._read(taken, [float(total), *_read(loss)])
            return ()
        self._post.collect()
        known = [loss] if loss is not None and loss.device == total.device else []
        self._post.send([total, *known], lambda numbers: self._chronicle.later(taken.event, self._read(taken, numbers)))
        return ()

    def finish(self) -> None:
        """The audit stops."""
        self._post.collect(all_of_them=True)

    def _read(self, taken: _Taken, numbers: list[float]) -> tuple[tuple[str, float], ...]:
        """Named: the norm, and the loss if it is known."""
        norm, *loss = numbers
        if type(taken.total) is Tensor and self.first is None and not math.isfinite(norm):
            pairs = zip(taken.filled, taken.sizes, strict=True)
            bad = [one for one, size in pairs if not math.isfinite(float(size))]
            known = loss[0] if loss else math.nan
            self.first = NonFinite(taken.step, taken.site, named(bad), known, taken.unmeasured)
        return tuple(zip(("norm", "loss"), numbers, strict=False))


def _read(loss: Tensor | None) -> list[float]:
    try:
        return [] if loss is None else [float(loss)]
    except Exception:  # fake, meta, or being captured
        return []
