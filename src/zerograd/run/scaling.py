"""Loss scales: which backward is of a scaled loss, and what the scaler was asked to do out of turn (ZG203).

Whether gradients are scaled is a part of their state, and ZG201, ZG202 and ZG204 are judged by it. What is known here
is where a scaled loss comes from: a tensor that `scaler.scale()` returned, or one whose last few nodes lead to it.
"""

from collections.abc import Sequence
from typing import Any
from weakref import ref

from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Site
from zerograd.core.findings import Related
from zerograd.rules.telling import note
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.losses import mark_scale, read

_HABIT = 2
_NEAR = 24  # nodes that are searched for the scaled loss behind a sum or a division


class Scaling(Detector):
    codes = ("ZG202", "ZG203", "ZG204")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._scaled: list[ref[Tensor]] = []
        self._in_use = False  # a scaler has scaled or stepped
        self._plain = 0  # steps through a scaler whose losses were not scaled
        self._past: tuple[Event, Deposit] | None = None  # a step past the scaler, and the scaled loss that it consumed

    def done_with(self, site: Site) -> bool:
        return not self._in_use

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        if self._in_use and not deposit.event.scaled and deposit.reading is None and len(roots) == 1:
            deposit.reading = read(roots[0])  # somebody may multiply by the scale himself

    def consuming(self, account: Account, step: Event) -> None:
        scaled = [deposit for deposit in account.window.deposits if deposit.event.scaled]
        self._past = (step, scaled[-1]) if scaled and not step.scaled else None

    def raised(self, error: BaseException) -> None:
        """An exception has left the program: `scaler.update()` refuses where nothing was stepped through it."""
        if self._past is not None and isinstance(error, AssertionError) and "No inf checks" in str(error):
            step, deposit = self._past
            why = "that are still multiplied by the loss scale"
            led = [(deposit.event, "adds these gradients")]
            self.say("ZG202", step.site or deposit.site, certain=True, led=led, step=step.what, scaled=why)

    def scaled(self, result: object) -> None:
        """`scaler.scale()` of an enabled scaler has returned."""
        self._in_use = True
        self._scaled = [known for known in self._scaled[-16:] if known() is not None]
        for one in result if isinstance(result, list | tuple) else [result]:
            if isinstance(one, Tensor):
                mark_scale(one)
                self._scaled.append(ref(one))

    def is_scaled(self, roots: Sequence[Tensor]) -> bool:
        """Whether this is the backward of a scaled loss."""
        if not self._scaled:
            return False
        alive = [one for known in self._scaled if (one := known()) is not None]
        if any(root is one for root in roots for one in alive):
            return True
        ends = {one.grad_fn for one in alive if one.grad_fn is not None}
        return any(_leads_to(root.grad_fn, ends) for root in roots)

    def out_of_turn(self, scaler: Any, optimizer: Optimizer, site: Site) -> None:
        """`scaler.step()` begins. If it has stepped since the last update(), torch is about to raise."""
        if _stage(scaler, optimizer) == "STEPPED":
            self.say("ZG203", site, certain=True, step="scaler.step()", scaler="scaler", what="scaler.step()")

    def unscaled_before(self, scaler: Any, optimizer: Optimizer, event: Event, account: Account | None) -> bool:
        """`scaler.unscale_()` begins. If it has unscaled or stepped since the last update(), torch will raise."""
        stage, step = _stage(scaler, optimizer), account and account.last_step
        if stage == "UNSCALED" and event.site is not None:
            self.say("ZG204", event.site, certain=True, what=event.what)
        if stage == "STEPPED" and step and step.site is not None:
            self.say(
                "ZG203",
                step.site,
                certain=True,
                led=[(event, "raises, because update() has not run")],
                step=step.what,
                scaler="scaler",
            )
        return stage in ("UNSCALED", "STEPPED")

    def consumed_by(self, scaler: Any, account: Account, step: Event) -> None:
        """`scaler.step()` is about to consume. If no loss was scaled, it divides what was never multiplied."""
        self._in_use = True
        window = account.window
        plain = [deposit for deposit in window.deposits if not deposit.event.scaled and deposit.reading is not None]
        if not plain or len(plain) != len(window.deposits) or window.edited or account.clipped_by is not None:
            return
        if any(deposit.reading is None or deposit.reading.factor != 1.0 for deposit in plain) or step.site is None:
            return
        self._plain += 1
        rule = self.rules.get("ZG202")
        if rule is not None and self._plain >= _HABIT and scaler.get_scale() != 1.0:
            why = "of a loss that was never scaled"
            led = (Related(plain[-1].site, "adds these gradients"),)
            told = note(rule, step.site, certain=True, related=led, step=step.what, scaled=why)
            self._report(told._replace(cure="call scaler.scale(loss).backward() instead of loss.backward()"))


def _stage(scaler: Any, optimizer: Optimizer) -> str:
    state = scaler._per_optimizer_states.get(id(optimizer)) if scaler.is_enabled() else None
    return str(getattr(state.get("stage"), "name", "")) if state else ""


def _leads_to(node: Any, ends: set[Any]) -> bool:
    seen, waiting = 0, [node]
    while waiting and seen < _NEAR:
        one = waiting.pop(0)
        if one is None:
            continue
        if one in ends:
            return True
        seen += 1
        waiting.extend(child for child, _ in one.next_functions)
    return False
