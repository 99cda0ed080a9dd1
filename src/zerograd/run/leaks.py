"""Gradients that a step consumes and should not: what another objective left (ZG005), or a broken iteration (ZG007).

A deposit belongs to the first optimizer whose step consumes it. What it leaves in others on the way is by-catch:
legal as long as it is erased, or consumed before anything else is deposited. It has leaked when its own optimizer had
stepped, a later backward was added, and then a step of the other reads the sum. Optimizers that share an encoder, or
step at different paces, do the same on purpose; so it must also be true that the objective ran *through* these
parameters to reach its own (a generator's loss through the discriminator), and that nothing from its line is meant
for this step.
"""

from zerograd.core.events import Event
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector


class Leaks(Detector):
    codes = ("ZG005", "ZG007")

    def consuming(self, account: Account, step: Event) -> None:
        window = account.window.deposits
        if len(window) > 1:
            self._leaked(account, window, step)
        if window and account.steps:  # before its first step nobody saw what a hand cleared
            self._inherited(account, window, step)

    def _leaked(self, account: Account, window: list[Deposit], step: Event) -> None:
        own = {deposit.site for deposit in window if deposit.settled is None}
        for deposit in window:
            if deposit.settled is None or deposit.site in own:
                continue
            settler, moment = deposit.settled
            later = [other for other in window if other.settled is None and other.moment > moment]
            if settler != account.number and later:
                self.say(
                    "ZG005",
                    step.site or deposit.site,
                    certain=(account.number, settler) in deposit.passed,
                    led=[(deposit.event, "left here"), (later[0].event, "the optimizer's own objective")],
                    step=step.what,
                    deposit=f"backward() on line {deposit.site.line}",
                    own=f"backward() on line {later[0].site.line}",
                )
                return

    def _inherited(self, account: Account, window: list[Deposit], step: Event) -> None:
        raised = [deposit for deposit in window if deposit.raised]
        broken = raised or self._skipped(account, window)
        if broken and broken[0] is not window[-1]:
            # Someone who stops every backward by an exception does it on purpose.
            certain = not raised or account.habits.raised(raised[0].site) <= 0.5
            why = "ended with an exception" if raised else "gave a loss that is not finite"
            self.say(
                "ZG007",
                step.site or broken[0].site,
                certain=certain,
                led=[(broken[0].event, "the broken iteration deposits here")],
                step=step.what,
                deposit=f"backward() on line {broken[0].site.line}",
                why=why,
            )

    @staticmethod
    def _skipped(account: Account, window: list[Deposit]) -> list[Deposit]:
        """Deposits of a loss that is not finite, in a window larger than usual: the step was skipped, not the clear."""
        usual = account.habits.usual()
        if len(window) < 2 or (usual is not None and len(window) <= usual):
            return []
        return [deposit for deposit in window[:-1] if not deposit.finite()]
