"""Gradients that a step consumes and should not: what another objective left (ZG005), or a broken iteration (ZG007).

A deposit belongs to the first optimizer whose step consumes it. What it leaves in others on the way is by-catch:
legal as long as it is erased, or consumed before anything else is deposited. It has leaked when its own optimizer had
stepped, a later backward was added, and then a step of the other reads the sum. Optimizers that share an encoder, or
step at different paces, do the same on purpose; so it must also be true that nothing from its line is meant for this
step, and that one of the two is only passed through: the objective ran *through* these parameters to reach its own (a
generator's loss through the discriminator); or both objectives ran through the other optimizer's to reach these, again
and again, and those are also shown what did not come from here (a discriminator that sees images, and images of the
generator that were not detached). And what was left must not be zero: that is measured from the second time on.

An attack, or any other probe, wants the gradient of an input, and fills the parameters on the way. What it leaves there
has leaked when a loss that goes back to no input is deposited on top of it, into the same parameters. Who trains on the
clean batch as well may write just that: it is certain where the probe stands in a function or a loop of its own.

An iteration was given up where its backward raised or its loss is not finite; where every way through the program leads
from the backward to the step, so that only an exception can have come between, or a test of its loss; or where it had
been clipped, as is done right before a step. Whoever goes on without a step for another reason may be accumulating:
that is only possible.
"""

from collections import Counter
from collections.abc import Sequence

from zerograd.core.events import Event, Site
from zerograd.rules.telling import note
from zerograd.run.account import Account
from zerograd.run.bytecode import always_steps, in_one_body, turned_by_its_loss
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.graph import Survey
from zerograd.run.sites import user_frame
from zerograd.run.values import largest, nonzero

_HABIT = 2
LEFT = "leaves gradients in these parameters too"
OWN = "is the backward for this optimizer"


class Leaks(Detector):
    codes = ("ZG005", "ZG007")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._opposed: Counter[Site] = Counter()  # lines whose backwards ran through the other's, as its own did
        self._probes: Counter[Site] = Counter()  # steps that consumed what a probe on this line had left
        self._shown = 0  # accounts, as bits, whose parameters meet data in some loss
        self._suspects: set[Site] = set()  # lines that may leak: from then on what they leave is measured

    def surveyed(self, found: Survey) -> None:
        """The graph of a loss was walked."""
        self._shown |= found.first

    def done_with(self, site: Site) -> bool:
        return site not in self._suspects

    def deposited(self, deposit: Deposit, accounts: Sequence[Account]) -> None:
        if deposit.site in self._suspects:
            deposit.left = {one.number: largest(one.few_gradients().values()) for one in accounts}

    def consuming(self, account: Account, step: Event) -> None:
        window = account.window.deposits
        if len(window) > 1:
            self._leaked(account, window, step)
            self._probed(account, window, step)
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
                certain = self._passes_through(account.number, settler, deposit, later)
                left, known = deposit.left.get(account.number), deposit.site in self._suspects
                self._suspects.add(deposit.site)
                if left is not None and not any(nonzero(left)):
                    return  # a gradient of zeros: the graph goes there through a sign, or a comparison
                self.say(
                    "ZG005",
                    step.site or deposit.site,
                    certain=certain and known,
                    led=[(deposit.event, LEFT), (later[0].event, OWN)],
                    step=step.what,
                )
                return

    def _probed(self, account: Account, window: list[Deposit], step: Event) -> None:
        own = window[-1]
        probes = [one for one in window[:-1] if one.probes and one.settled is None and one.fills == own.fills]
        if own.probes or not probes or not own.fills or len({one.site for one in probes}) > 1:
            return
        site = probes[0].site
        self._probes[site] += 1
        rule = self.rules.get("ZG005")
        if rule is None:
            return
        apart = not in_one_body(user_frame(), site)
        certain = apart and self._probes[site] >= _HABIT and not account.window.edited
        told = note(rule, step.site or site, certain=certain, step=step.what)
        self.say_as(told, [(probes[-1].event, f"is meant for an input, but {LEFT}"), (own.event, OWN)])

    def _passes_through(self, account: int, settler: int, deposit: Deposit, later: list[Deposit]) -> bool:
        if (account, settler) in deposit.passed:
            # Unless its own objective comes here through the other's: then the two go on with each other.
            return not any((settler, account) in one.passed for one in later)
        both = all((settler, account) in one.passed for one in [deposit, *later])
        self._opposed[deposit.site] += both and self._shown >> settler & 1
        return self._opposed[deposit.site] >= _HABIT

    def _inherited(self, account: Account, window: list[Deposit], step: Event) -> None:
        found = self._broken(account, window)
        if found is None:
            return
        deposit, why, certain = found
        self.say(
            "ZG007",
            step.site or deposit.site,
            certain=certain,
            led=[(deposit.event, why)],
            step=step.what,
            exit="the next iteration",
        )

    @staticmethod
    def _broken(account: Account, window: list[Deposit]) -> tuple[Deposit, str, bool] | None:
        """The backward of an iteration that was given up before its step, how that shows, and whether it is certain."""
        habits = account.habits
        for deposit in window[:-1]:
            if deposit.raised:
                # Someone who stops every backward by an exception does it on purpose.
                return deposit, "ended with an exception", habits.raised(deposit.site) <= 0.5
        usual = habits.usual()
        if len(window) < 2 or (usual is not None and account.window.size() <= usual):
            return None
        again = {deposit.site for deposit in window[1:]}
        left = [one for one in window[:-1] if one.settled is None and one.site in again]
        for deposit in left:
            if not deposit.finite():  # and if a hand has cleared it, what lies there now is finite
                return (
                    None
                    if account.slots.are_finite()
                    else (deposit, "ran on a loss that is not finite, and no step followed", True)
                )
        if not left or not habits.lone() or not any(nonzero(account.window.found)):
            return None
        if any(deposit.clipped for deposit in left):
            return left[0], "was clipped, but no step followed", True
        if always_steps(left[0].site):
            return left[0], "was followed by an exception instead of a step", True
        if turned_by_its_loss(left[0].site):
            return left[0], "was skipped after a test of its loss", True
        return left[0], "was not followed by a step", False
