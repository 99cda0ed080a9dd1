"""One backward as a run remembers it, and the window of them that the next step of an optimizer will consume."""

import math
from collections import Counter
from collections.abc import Sequence

from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.run.losses import Reading

_FEW = 4


def scalar(roots: Sequence[Tensor]) -> Tensor | None:
    """The loss that a backward begins with, without its graph and unread; None where it is not one number."""
    loss = roots[0] if len(roots) == 1 else None
    return loss.detach() if isinstance(loss, Tensor) and loss.numel() == 1 else None


def is_finite(loss: Tensor | None) -> bool:
    """Whether a loss is a number, or cannot be read."""
    try:
        return loss is None or math.isfinite(float(loss))
    except Exception:  # fake, meta, or a graph that is being captured
        return True


class Deposit:
    """A backward. The same object stands in the window of every optimizer whose slots it hit."""

    __slots__ = (
        "alone", "bare", "clipped", "epoch", "event", "fills", "left", "loss", "moment",
        "passed", "past", "probes", "raised", "reached", "reading", "seed", "settled", "synced",
    )  # fmt: skip

    def __init__(self, event: Event, *, moment: int, epoch: int, loss: Tensor | None) -> None:
        self.event = event
        self.moment = moment
        self.epoch = epoch  # how many passes over a DataLoader had begun
        self.loss = loss  # detached, unread: whether it is a number is asked only when something hangs on it
        self.clipped = False  # it was clipped, as for a step, and then more was deposited
        self.raised = False  # it ended with an exception: what it has left is a part of a gradient
        self.settled: tuple[int, int] | None = None  # the account whose step consumed it first, and when
        self.passed: frozenset[tuple[int, int]] = frozenset()  # see `behind` in graph.py
        self.alone: int | None = None  # see `alone` in graph.py
        self.left: dict[int, list[Tensor | None]] = {}  # sizes of what it left in an account, where it may leak; unread
        self.probes = False  # it goes back to an input, whose gradient somebody wants
        self.fills: frozenset[int] = frozenset()  # the leaves with an owner
        self.reached = True  # its loss leads to some leaf; False: it was detached
        self.synced: bool | None = None  # whether a DistributedDataParallel averaged it; None: there is none
        self.past = False  # no forward of the DistributedDataParallel came before it
        self.reading: Reading | None = None
        self.bare = False  # nothing can have divided the loss where its mean is taken: see [Note: bare] in losses.py
        self.seed: Tensor | None = None  # in full mode: what the backward begins with, `loss.backward(seed)`; unread

    def finite(self) -> bool:
        """Whether its loss is a number. Waits for the answer where it lies on a device."""
        return is_finite(self.loss)

    def items(self) -> tuple[tuple[str, float], ...]:
        """Over how many items its loss is a mean or a sum, where that was read."""
        items = None if self.reading is None else self.reading.items
        return (("items", items),) if items else ()

    @property
    def site(self) -> Site:
        return self.event.site or Site("<unknown>", 0)


class Window:
    """What was deposited into an optimizer's slots since its last step, and not cleared."""

    def __init__(self) -> None:
        self.deposits: list[Deposit] = []
        self.erased: list[Deposit] = []  # a few that were cleared unread since the last step
        self.sizes: list[Tensor | None] = []  # of what was cleared unread, where a step had starved before; not read
        self.found: list[Tensor | None] = []  # sizes of what lay there when a line deposited again; not read
        self.whole = True  # it was watched from its beginning. See [Note: unseen]
        self.edited = False  # somebody wrote into gradients by hand
        self.hit: set[int] = set()  # the slots that the last backward has filled
        self.all_reduced = False  # a collective ran since the last deposit: somebody may average by hand

    def add(self, deposit: Deposit) -> None:
        self.deposits.append(deposit)

    def erase(self) -> None:
        """A clear has removed them all."""
        self.erased = self.deposits[-_FEW:] or self.erased
        self.deposits, self.found = [], []
        self.edited, self.whole = False, True

    def settle(self, account: int, moment: int) -> None:
        """A step consumes them: each belongs to the first that does."""
        for deposit in self.deposits:
            deposit.settled = deposit.settled or (account, moment)

    def empty(self) -> None:
        """A step has consumed them."""
        self.deposits, self.erased, self.sizes, self.found = [], [], [], []
        self.edited, self.whole = False, True

    def unseen(self) -> None:
        """Nobody knows what was deposited."""
        self.empty()
        self.whole = False

    def erased_for_cause(self) -> bool:
        """Whether what was cleared unread was not finite, the loss or the gradients of it: then a guard has cleared."""
        if any(not deposit.finite() for deposit in self.erased):
            return True
        try:
            return any(size is not None and not math.isfinite(float(size)) for size in self.sizes)
        except Exception:  # fake, meta, or a graph that is being captured
            return True

    def begins_with(self, site: Site) -> bool:
        """Whether this line was among the first that deposited."""
        return any(deposit.site == site for deposit in self.deposits[:_FEW])

    def size(self) -> int:
        """How many micro-batches: as often as the busiest line deposited."""
        if len(self.deposits) < 2:
            return len(self.deposits)
        return max(Counter(deposit.site for deposit in self.deposits).values())
