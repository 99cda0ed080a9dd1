"""What stands around backwards and steps: loss scales, schedules, averaging by hand, tensors that change places."""

from collections.abc import Iterable
from typing import Any

from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.run.chronicle import SKIPPED
from zerograd.run.sites import user_site
from zerograd.run.watcher import Watcher


class Surroundings:
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def scaled(self, result: object) -> None:
        """`scaler.scale()` of an enabled scaler has returned."""
        self._watcher.pace.leave()
        self._watcher.detectors.scaling.scaled(result)

    def unscaling(self, scaler: Any, optimizer: Optimizer) -> None:
        """`scaler.unscale_()` begins."""
        watcher = self._watcher
        if watcher.mine.aside:
            return
        watcher.pace.leave()
        account = watcher.accounts.dealt_with(optimizer, by="unscale_")
        event = Event(Kind.UNSCALE, site=user_site(), what="scaler.unscale_()")
        if watcher.detectors.scaling.unscaled_before(scaler, optimizer, event, account):
            watcher.detectors.flush()
        elif account is not None and not watcher.mine.depth and not watcher.asleep:
            watcher.judge.unscale(account, event, scale=scaler.get_scale)

    def scaler_steps(self, scaler: Any, optimizer: Optimizer) -> int:
        """`scaler.step()` begins. Returns the steps of this thread so far."""
        watcher = self._watcher
        if not watcher.mine.aside:
            watcher.pace.leave()
            watcher.detectors.scaling.out_of_turn(scaler, optimizer, user_site())
            watcher.detectors.flush()
            watcher.mine.scaler = scaler if scaler.is_enabled() else None
        return watcher.mine.steps

    def scaler_stepped(self) -> None:
        self._watcher.mine.scaler = None

    def skipped_step(self, scaler: Any, optimizer: Optimizer, *, since: int) -> None:
        """`scaler.step()` has returned. Without a step it found infinities: the gradients have had their chance."""
        watcher = self._watcher
        if watcher.mine.aside or watcher.asleep or watcher.mine.steps != since:
            return
        account = watcher.accounts.taken(optimizer, by_scaler=True)
        account.settle()
        numbers = ((SKIPPED, 1.0),)
        event = Event(Kind.CONSUME, account.name, user_site(), scaled=True, what="scaler.step()", numbers=numbers)
        account.window.settle(account.number, watcher.accounts.clock.tick())
        account.consumed(watcher.chronicle.scaled(event, scaler, optimizer))
        account.after_step()

    def made(self, optimizer: Optimizer) -> None:
        """An optimizer has been constructed."""
        self._watcher.accounts.made(optimizer, self._watcher.mine.work())

    def scheduled(self, scheduler: Any) -> None:
        """`scheduler.step()` begins."""
        watcher = self._watcher
        if not watcher.mine.aside and not watcher.asleep:
            account = watcher.accounts.own(getattr(scheduler, "optimizer", None))
            moment = watcher.accounts.clock.tick()
            watcher.detectors.schedules.moved(scheduler, user_site(), account, moment=moment)
            if account is not None:
                account.books.tell([Event(Kind.SCHEDULE, site=user_site(), what="scheduler.step()")])
            watcher.detectors.flush()

    def data_begins(self) -> None:
        """A pass over a DataLoader begins."""
        self._watcher.epoch += 1

    def data_handed_out(self) -> None:
        """A DataLoader hands out a batch."""
        self._watcher.detectors.groups.fetched()

    def forward(self, module: Any) -> None:
        """A DistributedDataParallel begins its forward."""
        self._watcher.detectors.syncing.forward(module)

    def wrapped(self, module: Any) -> None:
        """A module was wrapped by a DistributedDataParallel."""
        self._watcher.detectors.syncing.wrapped(module)

    def exchanged(self, values: Iterable[object]) -> None:
        """A collective runs with these: somebody may be averaging gradients by hand, or weights."""
        self._watcher.mine.reduced = True
        if not self._watcher.mine.depth:
            self._watcher.detectors.syncing.exchanged(values)

    def swapping(self) -> None:
        """Two tensors are about to change places, which torch refuses to do to tensors with weak references."""
        self._watcher.pace.leave()
        self._watcher.detectors.forget()
        for account in self._watcher.accounts.ours():
            account.reopen()
