"""What a Step remembers from block to block."""

from typing import NamedTuple

from zerograd.engine.carrying import Carried
from zerograd.engine.fitted import Fitted
from zerograd.engine.hooks import Hooks
from zerograd.engine.outcome import COMMITTED, Ending, Outcome
from zerograd.engine.promise import Promises


class Known(NamedTuple):
    """How the blocks so far have ended. Replaced as a whole, so that it is always one that holds."""

    outcome: Outcome | None = None  # of the last one. See [Note: deferred verdicts]
    committed: int = 0
    skipped: int = 0
    skips_in_a_row: int = 0  # because the gradients were not finite
    torn: bool = False
    of: object = None  # whose outcome it is: a block's number

    def after(self, outcome: Outcome, of: object, *, finite: bool) -> "Known":
        """With one more that did not commit."""
        skipped, torn = outcome.kind is Ending.SKIPPED, outcome.kind is Ending.TORN
        in_a_row = self.skips_in_a_row + (skipped and not finite)
        return Known(outcome, self.committed, self.skipped + skipped, in_a_row, torn, of)


class Record:
    def __init__(self) -> None:
        self.known = Known()
        self.promises = Promises()
        self.stepped: object = None  # the slots that the optimizers have made their state for
        self.fitted = Fitted()  # rows that split() knows to fit into memory
        self.hooks = Hooks()
        self.carried = Carried()

    def ended(self, outcome: Outcome, of: object, *, finite: bool = True) -> None:
        """Said before anything else can raise, and never taken back. Saying it again changes nothing."""
        known = self.known
        if known.of is of:
            return
        if outcome.kind is COMMITTED:
            if self.carried.calls:
                self.carried.keep()
            self.known = Known(outcome, known.committed + 1, known.skipped, 0, False, of)
        else:
            self.carried.lose()
            self.known = known.after(outcome, of, finite=finite)

    def tear(self, cause: str) -> None:
        """It could not even be undone."""
        outcome = (self.known.outcome or Outcome(Ending.TORN))._replace(kind=Ending.TORN, cause=cause)
        self.known = self.known._replace(outcome=outcome, torn=True)
