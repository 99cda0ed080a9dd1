"""How a transaction ended."""

from enum import Enum
from typing import NamedTuple

from torch import Tensor


class Ending(Enum):
    COMMITTED = "committed"  # the optimizers stepped
    SKIPPED = "skipped"  # the gradients were not finite, or every micro-batch weighed nothing; the weights did not move
    ROLLED_BACK = "rolled_back"  # an exception left the block; nothing of it remains
    ABORTED = "aborted"  # step.abort(): the block gave the step up
    TORN = "torn"  # optimizer.step() itself raised: the weights are neither old nor new


COMMITTED = Ending.COMMITTED  # at every step: to ask the class for it takes Python 3.11 a quarter of a microsecond


class Outcome(NamedTuple):
    kind: Ending
    weight: float = 0.0
    micro_batches: int = 0
    cause: str = ""
    total_norm: Tensor | float | None = None

    @property
    def moved(self) -> bool:
        """Whether the weights moved: `if step.outcome.moved: ema.update_parameters(model)`."""
        return self.kind is COMMITTED

    @property
    def norm(self) -> float | None:
        """That of the true gradient before the clip; None unless clip= measures it. Reading it waits for the device."""
        return None if self.total_norm is None else float(self.total_norm)
