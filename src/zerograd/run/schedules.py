"""Schedules that move before their optimizer has stepped (ZG301).

A run that resumes loads the schedule, or moves it forward before it trains, at a line of its own. Of a schedule that
has moved before by other means than the line that moves it now, the steps that belong to it are not in sight. The fault
is a line inside the loop: the same line that moved the schedule before the first step moves it again after one. Or a
line between the first backward and the first step, with nothing deposited since: nobody resumes there. Whoever draws
the curve of a schedule steps an optimizer that never gets a gradient.
"""

from typing import Any
from weakref import WeakKeyDictionary

from torch.optim import Optimizer

from zerograd.core.events import Event, Site
from zerograd.core.machine import Content
from zerograd.run.account import Account
from zerograd.run.detector import Detector


class Schedules(Detector):
    codes = ("ZG301",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._early: WeakKeyDictionary[Optimizer, dict[Site, int]] = WeakKeyDictionary()
        # By account: a move between its first backward and step, when, and what is known of its optimizer.
        self._between: dict[int, tuple[Site, int, dict[Site, int]]] = {}

    def first_step(self, account: Account, step: Event) -> None:
        """An optimizer is about to step for the first time."""
        if account.number not in self._between:
            return
        site, moment, early = self._between.pop(account.number)
        if all(deposit.moment < moment for deposit in account.window.deposits):
            early[site] = 0  # it is said
            self.say("ZG301", site, certain=True, led=[(step, "the optimizer steps here")], what="scheduler.step()")

    def moved(self, scheduler: Any, site: Site, account: Account | None, *, moment: int) -> None:
        """`scheduler.step()` begins, without an epoch or a metric."""
        optimizer = getattr(scheduler, "optimizer", None)
        if not isinstance(optimizer, Optimizer) or getattr(scheduler, "_step_count", 1) < 1:
            return  # the constructor makes the first move itself
        early = self._early.setdefault(optimizer, {})
        stepped = getattr(optimizer, "_opt_called", False) or (account is not None and account.steps > 0)
        if not stepped:
            if getattr(scheduler, "last_epoch", 0) > early.get(site, 0):
                return  # it was loaded, or moved elsewhere
            early[site] = early.get(site, 0) + 1
            if account is not None and account.window.deposits and account.standing().content is Content.FRESH:
                self._between[account.number] = site, moment, early
        elif early.get(site) == 1 and account is not None and account.is_trained():
            early[site] = 0
            led: list[tuple[Event | Site, str]] = []
            if account.last_step is not None:
                led = [(account.last_step, "the optimizer steps here")]
            self.say("ZG301", site, certain=True, led=led, what="scheduler.step()")
