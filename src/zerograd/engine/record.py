"""What a Step remembers from block to block."""

from zerograd.engine.carrying import Carried
from zerograd.engine.outcome import Ending, Outcome
from zerograd.engine.promise import Promises


class Record:
    def __init__(self) -> None:
        self.outcome: Outcome | None = None  # of what is known. See [Note: deferred verdicts]
        self.committed = self.skipped = 0
        self.promises = Promises()
        self.skips_in_a_row = 0
        self.torn = False
        self.stepped: object = None  # the slots that the optimizers have made their state for
        self.fitted: int | None = None  # rows that split() knows to fit into memory
        self.carried = Carried()

    def ended(self, outcome: Outcome) -> None:
        """Said before anything else can raise, and never taken back."""
        self.outcome = outcome
        if outcome.kind is Ending.COMMITTED:
            self.committed += 1
            self.skips_in_a_row = 0
            self.carried.keep()
            return
        self.carried.lose()
        self.skipped += outcome.kind is Ending.SKIPPED
        self.torn = outcome.kind is Ending.TORN
