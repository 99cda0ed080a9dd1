"""Schedules that move before their optimizer has stepped (ZG301).

A run that resumes loads the schedule, or moves it forward before it trains, at a line of its own. Of a schedule that
has moved before by other means than the line that moves it now, the steps that belong to it are not in sight. The fault
is a line inside the loop: the same line that moved the schedule before the first step moves it again after one. Or a
line between the first backward and the first step, with nothing deposited since: nobody resumes there. Whoever draws
the curve of a schedule steps an optimizer that never gets a gradient.

A schedule that moves with every step also moves with those that a GradScaler skips: it runs ahead of what was learned.
Most loops that scale do so, and lose little by it: it is possible.
"""

from typing import Any
from weakref import WeakKeyDictionary

from torch.optim import Optimizer

from zerograd.core.events import Event, Site
from zerograd.core.machine import Content
from zerograd.rules.telling import note
from zerograd.run.account import Account
from zerograd.run.chronicle import SKIPPED
from zerograd.run.detector import Detector

_AHEAD = "{} moves the learning rate although the scaler skipped {}"
_INSTEAD = "call it only if scaler.update() did not lower scaler.get_scale()"


class Schedules(Detector):
    codes = ("ZG301",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._early: WeakKeyDictionary[Optimizer, dict[Site, int]] = WeakKeyDictionary()
        self._steps: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # of its optimizer, when a schedule moved last
        # By account: a move between its first backward and step, when, and what is known of its optimizer.
        self._between: dict[int, tuple[Site, int, dict[Site, int]]] = {}

    def first_step(self, account: Account, step: Event) -> None:
        """An optimizer is about to step for the first time."""
        if account.number not in self._between:
            return
        site, moment, early = self._between.pop(account.number)
        if all(deposit.moment < moment for deposit in account.window.deposits):
            early[site] = 0  # it is said
            self.say(
                "ZG301", site, certain=True, led=[(step, "is the first step of the optimizer")], what="scheduler.step()"
            )

    def moved(self, scheduler: Any, site: Site, account: Account | None, *, moment: int) -> None:
        """`scheduler.step()` begins, without an epoch or a metric."""
        optimizer = getattr(scheduler, "optimizer", None)
        if not isinstance(optimizer, Optimizer) or getattr(scheduler, "_step_count", 1) < 1:
            return  # the constructor makes the first move itself
        if account is not None:
            self._skipped(scheduler, site, account)
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
                led = [(account.last_step, "is the first step of the optimizer")]
            self.say("ZG301", site, certain=True, led=led, what="scheduler.step()")

    def _skipped(self, scheduler: Any, site: Site, account: Account) -> None:
        """Whether the one step since it moved last was none."""
        before, self._steps[scheduler] = self._steps.get(scheduler, 0), account.steps
        step, rule = account.last_step, self.rules.get("ZG301")
        if rule is None or step is None or account.steps != before + 1 or not dict(step.numbers).get(SKIPPED):
            return
        told = note(rule, site, certain=False, what="scheduler.step()")
        said = _AHEAD.format("scheduler.step()", step.what)
        self.say_as(told._replace(message=said, cure=_INSTEAD), [(step, "is skipped by the scaler")])
