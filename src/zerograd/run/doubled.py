"""Parameters that two optimizers hold, and both step with the gradients of one backward (ZG004).

Each has an account of its own, in which nothing is wrong: the gradient was deposited, and consumed once. What is wrong
is between the two. It is only possible: two optimizers may be mixed on purpose, the second may read no gradient, or get
one that was written unseen. An optimizer that steps within the step of another is a part of it.
"""

from collections.abc import Sequence

from zerograd.core.events import Event
from zerograd.core.findings import Related
from zerograd.core.machine import Content
from zerograd.rules.telling import note
from zerograd.run.account import Account
from zerograd.run.detector import Detector
from zerograd.run.handwork import MAYBE_CLEARED, MAYBE_FILLED
from zerograd.run.naming import named

_CURE = "give every parameter to one optimizer only"


class Doubled(Detector):
    codes = ("ZG004",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._named: dict[tuple[int, int], str] = {}  # by two accounts: the parameters that both hold

    def stepping(self, account: Account, step: Event, others: Sequence[Account]) -> None:
        """A step is about to read. `others`: accounts that hold some of its parameters."""
        for other in others if self.rules else ():
            first = other.last_step
            if first is not None and other.books.stepped > max(other.books.fed, account.books.fed):
                again = _consumed_again(account, other)
                if again and step.site is not None:
                    both = self._called(account, other, again)
                    where = f"{first.what} on line {first.site.line}" if first.site is not None else first.what
                    said = f"{step.what} reuses the gradients of {where}"
                    shared = (Related(step.site, f"both hold {both}"),)
                    told = note(self.rules["ZG004"], step.site, certain=False, related=shared, step="", consumer="")
                    self.say_as(told._replace(message=said, cure=_CURE), [(first, "has already used these gradients")])
                    return

    def _called(self, account: Account, other: Account, slots: set[int]) -> str:
        pair = (other.number, account.number)
        if pair not in self._named:
            parameters = account.slots.parameters()
            self._named[pair] = named([parameters[slot] for slot in sorted(slots)])
        return self._named[pair]


def _consumed_again(account: Account, other: Account) -> set[int]:
    """The slots whose gradient lies as the other's step has left it, and was never consumed here."""
    other.settle()
    spent = other.books.within({Content.SPENT}, without=MAYBE_FILLED | MAYBE_CLEARED)
    left = {other.slots.ids[slot] for slot in spent}
    shared = {slot for slot in account.books.within({Content.FRESH}) if account.slots.ids[slot] in left}
    return shared - account.slots.zeros(shared) if shared else shared
