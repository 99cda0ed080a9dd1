"""What can happen to a slot, and where it happened."""

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """The verbs. A front end turns what it reads or sees into these and nothing else."""

    DEPOSIT = "deposit"  # backward() added a gradient into the slot
    SPILL = "spill"  # another objective's backward() added a gradient into the slot
    CONSUME = "consume"  # an optimizer step read the slot
    CLEAR = "clear"  # zero_grad(), .grad = None, .grad.zero_()
    UNSCALE = "unscale"  # the loss scale was divided out
    CLIP = "clip"  # the gradient was shortened
    REDUCE = "reduce"  # the gradient was summed over ranks
    RESCALE = "rescale"  # the gradient was multiplied by hand, to normalise what was accumulated
    ABANDON = "abandon"  # the iteration that deposited was given up before a step: a NaN skip, an exception
    SCHEDULE = "schedule"  # the learning-rate schedule of the slot's optimizer moved

    # Enum hashes its name in Python code; facts are hashed by the million.
    __hash__ = object.__hash__


class Site(NamedTuple):
    """A place in the user's code. Lines and columns count from 1."""

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0
    cell: int = 0  # in a notebook, which cell, from 1; lines then count from its first one

    @property
    def document(self) -> str:
        """What its line is a line of, as it is shown: a file, or one cell of a notebook."""
        return f"{self.path}:cell {self.cell}" if self.cell else self.path


class Event(NamedTuple):
    """One thing that happened. Numbers ride here, so that states stay finite."""

    kind: Kind
    slot: str | None = None  # None: some slot, we cannot tell which
    site: Site | None = None
    scaled: bool = False  # DEPOSIT of a loss times a loss scale; CONSUME through a scaler; CLIP that unscales first
    what: str = ""  # the call as the user wrote it: "optimizer.step()"
    numbers: tuple[tuple[str, float], ...] = ()
    midway: bool = False  # CLEAR inside an accumulation window, whose step comes only at the end
