"""DistributedDataParallel: which backward averaged gradients over the ranks (ZG501, ZG502).

The module decides when it runs forward. So each forward is noted, and the backward that follows is its own. A group of
one process has nothing to average, and nothing to save; but a step that would make ranks differ is told there too,
because that is where programs are tried.

A step on gradients that were not averaged is no fault where the weights are averaged instead, every so many steps
(local SGD, DiLoCo). Whoever does that leaves all backwards of a step unsynchronised, and has a line that exchanges
something between the ranks. A step that mixes both kinds of gradients, or a program that has no such line, does not.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.readers import nobody_averages
from zerograd.run.sites import user_frame
from zerograd.run.values import dense
from zerograd.trace.ranks import CONSUMED

_HABIT = 2


class Syncing(Detector):
    codes = ("ZG501", "ZG502")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._will_sync: bool | None = None
        self._alone = True
        self._wasteful = 0
        self._largest = 0  # elements of the largest parameter of a replica
        self._weights_meet = False  # the program itself has exchanged something as large as its weights
        self._replicated: frozenset[int] = frozenset()  # what every rank has a copy of

    def done_with(self, site: Site) -> bool:
        return self._will_sync is None or (self._alone and self._will_sync)

    def forward(self, module: Any) -> None:
        """A DistributedDataParallel begins its forward."""
        group = getattr(module, "process_group", None)
        self._will_sync, self._alone = bool(module.require_backward_grad_sync), group is not None and group.size() == 1
        if not self._largest:
            self._largest = max((one.numel() for one in module.parameters()), default=0)
        if not self._alone and not self._replicated:
            self._replicated = frozenset(id(one) for one in module.parameters() if one.requires_grad)

    def exchanged(self, values: Iterable[object]) -> None:
        """The program itself calls a collective, with these."""
        tensors = (one for value in values for one in (value if isinstance(value, list) else [value]))
        sizes = (one.numel() for one in tensors if isinstance(one, Tensor))
        self._weights_meet = self._weights_meet or 0 < self._largest <= max(sizes, default=0)

    def consumed(self, account: Account) -> tuple[tuple[str, float], ...]:
        """What every rank must have alike: the norm of what a step over a whole replica consumes (trace/ranks.py)."""
        if not self._replicated or not self._replicated <= set(account.slots.ids):
            return ()
        try:
            with torch.no_grad():
                norms = torch._foreach_norm([dense(one.grad) for one in account.parameters() if one.grad is not None])
                return ((CONSUMED, float(torch.linalg.vector_norm(torch.stack(norms)))),)
        except Exception:  # sparse, several devices, no gradients: there is no one norm
            return ()

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        deposit.synced = self._will_sync

    def consuming(self, account: Account, step: Event) -> None:
        synced = [deposit.synced for deposit in account.window.deposits]
        if not synced or None in synced:
            return
        last = account.window.deposits[-1]
        led = [(last.event, "this backward does not average over the ranks")]
        if not synced[-1] and not account.window.all_reduced and not account.window.edited:
            if not self._weights_meet:
                certain = any(synced) or nobody_averages(user_frame())
                self.say("ZG502", step.site or last.site, certain=certain, led=led, test=last.event.what)
        elif len(synced) > 1 and all(synced) and account.window.size() == len(synced) and not self._alone:
            self._wasteful += 1
            if self._wasteful >= _HABIT:
                count = str(len(synced))
                self.say("ZG501", last.site, certain=True, deposit=last.event.what, size=count)
