"""Clears and clips: which accounts a zero_grad(), or a clip, has to do with, and what it did to them."""

from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.core.machine import Content
from zerograd.run.account import Account
from zerograd.run.clipping import limits
from zerograd.run.sites import user_site
from zerograd.run.sureness import remember_unread
from zerograd.run.watcher import Watcher


class Clears:
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def begins(self, optimizer: Optimizer | None) -> list[Account]:
        """zero_grad() of this optimizer, or of some module, begins. Returns the accounts that it may clear.

        They are settled first, so that what changes from here on is its doing. Only the optimizer's own account is
        not: there it clears whatever there is.
        """
        watcher = self._watcher
        if watcher.mine.depth or watcher.asleep:  # a hook inside a backward: seen when that is over
            return []
        if watcher.mine.routine.going:
            if optimizer is not None and watcher.accounts.own(optimizer) is watcher.mine.routine.account():
                return []
            watcher.pace.leave()
        accounts = watcher.accounts.ours() if optimizer is None else watcher.accounts.sharing(optimizer)
        remember_unread(watcher.accounts.ours())
        for account in accounts:
            account.settle()
        return accounts

    def ended(self, optimizer: Optimizer | None, accounts: list[Account], *, to_none: bool) -> None:
        """That zero_grad() has returned. Looked at now, it is known which line has cleared."""
        watcher = self._watcher
        if watcher.mine.depth or watcher.asleep:
            return
        watcher.mine.early = []
        if watcher.mine.routine.going:
            if to_none and watcher.pace.passes(Kind.CLEAR):
                return
            watcher.pace.leave()
        clear = Event(Kind.CLEAR, site=user_site(), what="zero_grad()")
        own = None if optimizer is None else watcher.accounts.dealt_with(optimizer, by="zero_grad")
        watcher.judge.cleared(clear, to_none=to_none)
        if own is not None:
            watcher.detectors.clearing(own, clear)
            own.cleared(clear, to_none=to_none)
            own.work = watcher.mine.work() if not own.habits.nourished else None
            watcher.mine.routine.note(clear)
        if own is None or accounts or not to_none:
            watcher.mine.routine.spoil()
        for account in accounts:
            account.settle(clear)
            if not account.books.within({Content.FRESH, Content.MIXED}):
                watcher.detectors.clearing(account, clear)
                account.window.erase()

    def clipped(self, parameters: list[Tensor], limit: Any, *, total: object = None, by_value: bool = False) -> None:
        """A clip has returned: what it wrote back is what was there, shorter."""
        watcher = self._watcher
        if watcher.mine.depth or watcher.asleep:
            return
        writes = 2 if by_value else 1  # from above and from below
        if watcher.mine.routine.going:
            if parameters and limits(limit) and watcher.pace.passes(Kind.CLIP):
                watcher.mine.routine.clips += writes
                return
            watcher.pace.leave()
        site = user_site()
        if not parameters:
            watcher.detectors.clipping.reached_nobody(site)
            watcher.detectors.flush()
            return
        event = Event(Kind.CLIP, site=site, what="clip_grad_value_()" if by_value else "clip_grad_norm_()")
        reached = self._holding(parameters[0], parameters[-1])
        if not reached and watcher.accounts.expecting and watcher.accounts.met(parameters):
            reached = self._holding(parameters[0], parameters[-1])
        for account in reached:
            account.clipping(writes)
        if not limits(limit):
            return  # it only measures
        watcher.mine.routine.note(event)
        judged = not watcher.mine.stepping.optimizers() or all(account.closure.awaited for account in reached)
        watcher.judge.clip(reached, event, judged=judged)
        event = watcher.chronicle.clipped(event, total, limit)
        for account in reached:
            account.clipped(event)

    def _holding(self, *parameters: Tensor) -> list[Account]:
        return [account for account in self._watcher.accounts.ours() if account.holds(*parameters)]
