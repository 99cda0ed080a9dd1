"""Accumulation as it happened: windows of unequal size, tails that nobody stepped, groups that were never formed.

Only what is proved is certain. A first window that is smaller than all others, in a program that counts its
micro-batches from the first one, is a guard that is off by one (ZG103). A tail is a note (ZG102). That accumulation was
meant and does not happen (ZG106) shows in the loss: it is divided by a number that the program calls accumulation, and
every backward has a step of its own.
"""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.losses import read
from zerograd.run.settings import called_accumulation, whole_numbers
from zerograd.run.sites import user_frame

_ACCOUNTS = 64
_EARLY = 8  # backwards of a line whose loss is read
_ALIKE = 3  # windows of one size after a smaller first: chance does not do that


class Groups(Detector):
    codes = ("ZG102", "ZG103", "ZG106")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._meant: dict[Site, tuple[str, int] | None] = {}  # what a line's loss is divided by, and its name
        self._seen: dict[Site, int] = {}
        self._factors: dict[Site, set[float]] = {}  # what a line's losses were multiplied by, early on
        self._counters: WeakKeyDictionary[Account, list[tuple[int, dict[str, int]]]] = WeakKeyDictionary()
        self._fetched = 0  # batches that DataLoaders have handed out
        self._gap = False  # there were steps at which nobody looked: the windows that were seen are not the first ones
        # Its last step, and the line that fed it. Accounts outlive their optimizers here, to be asked at the end.
        self._last: dict[Account, tuple[Event, Site]] = {}

    def done_with(self, site: Site) -> bool:
        return self._meant.get(site) is None

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        seen = self._seen[deposit.site] = self._seen.get(deposit.site, 0) + 1
        if seen <= _EARLY and self.rules and roots:
            reading = deposit.reading or read(roots[0])
            factor = reading.factor
            self._factors.setdefault(deposit.site, set()).add(round(factor, 9))
            # A sum of several losses that is divided by their number has been accumulated already.
            size = round(1 / factor) if 0 < factor <= 0.5 and reading.mean is not None else 0
            named = called_accumulation(user_frame(), size) if size and abs(size * factor - 1) < 1e-6 else None
            meant = (named, size) if named else None
            if self._meant.setdefault(deposit.site, meant) != meant:
                self._meant[deposit.site] = None  # it is not always divided, or not by the same: then nobody knows

    def gap(self) -> None:
        self._gap = True

    def fetched(self) -> None:
        """A DataLoader hands out a batch."""
        self._fetched += 1

    def consuming(self, account: Account, step: Event) -> None:
        window, habits = account.window, account.habits
        if window.deposits and (account in self._last or len(self._last) < _ACCOUNTS):
            self._last[account] = step, window.deposits[0].site
        size = window.size()
        if len(habits.sizes) <= _ALIKE:
            sizes = [*habits.sizes, size]
            if sizes[0] == min(sizes):  # see _counts_micro_batches
                self._counters.setdefault(account, []).append((self._fetched, whole_numbers(user_frame())))
            self._uneven(account, step, sizes, left=None)
        if size > 1 and (usual := habits.usual()) and usual > 1 and size > usual:
            epochs = {deposit.epoch for deposit in window.deposits}
            if len(epochs) > 1:
                self.say("ZG102", step.site or window.deposits[0].site, certain=True, size=str(usual))
        if size == 1 and not window.erased and len(habits.sizes) >= _ALIKE - 1 and habits.always(1):
            meant = self._meant.get(window.deposits[0].site)
            if meant is not None:
                why = f"the loss is divided by {meant[0]} ({meant[1]})"
                self.say("ZG106", step.site or window.deposits[0].site, certain=True, step=step.what, why=why)

    def _uneven(self, account: Account, step: Event, sizes: list[int], *, left: int | None) -> None:
        first, rest = sizes[0], sizes[1:]
        if self._gap or not rest or set(rest) != {rest[0]} or not 0 < first < rest[0]:
            return
        if (left is None and len(rest) == _ALIKE) or (left == rest[0] - first and len(rest) < _ALIKE):
            site, size = step.site or Site("<unknown>", 0), str(rest[0])
            alike = all(len(factors) == 1 for factors in self._factors.values())  # else the pace may be meant to change
            certain = alike and _counts_micro_batches(self._counters.get(account, []), first, rest[0])
            count = f"{first} micro-batch{'es' * (first > 1)}"
            self.say("ZG103", site, certain=certain, step=step.what, first=count, size=size)

    def ended(self, accounts: Sequence[Account]) -> None:
        for account, (step, _) in self._last.items():
            if not account.window.whole:
                continue
            if all(deposit.finite() for deposit in account.window.deposits):
                self._uneven(account, step, account.habits.sizes, left=account.window.size())
            self._dropped(account)

    def clearing(self, account: Account, clear: Event) -> None:
        if account.window.deposits and not account.habits.always(1):
            self._dropped(account)

    def _dropped(self, account: Account) -> None:
        """What lies there will reach no step: whether it is a tail, of the line that feeds the steps."""
        step, line = self._last.get(account, (None, None))
        usual, sizes = account.habits.usual() or 1, account.habits.sizes
        if step is None or not 0 < account.window.size() < usual or sizes[0] != usual:
            return
        if all(deposit.site == line and deposit.finite() for deposit in account.window.deposits):
            self.say("ZG102", step.site or Site("<unknown>", 0), certain=True, size=str(usual))


def _counts_micro_batches(at_steps: list[tuple[int, dict[str, int]]], first: int, size: int) -> bool:
    """Whether some number of the program was the number of micro-batches at each step: a guard that is off by one.

    `at_steps`: the batches handed out so far, and the program's whole numbers. A run that resumes in the middle of a
    group has a smaller first window as well, at another count. A number that is ahead by one may count from 1, or count
    a batch that was no micro-batch: the DataLoader must have handed out as many as were deposited.
    """
    counts = [first + i * size for i, _ in enumerate(at_steps)]
    from_zero = _kept_by_someone(at_steps, [count - 1 for count in counts])
    from_one = _kept_by_someone(at_steps, counts) and [fetched for fetched, _ in at_steps] == counts
    return len(at_steps) > 1 and (from_zero if first == 1 else from_zero or from_one)


def _kept_by_someone(at_steps: list[tuple[int, dict[str, int]]], values: list[int]) -> bool:
    names = at_steps[0][1] if at_steps else {}
    told = list(zip([held for _, held in at_steps], values, strict=True))
    return any(all(held.get(name) == value for held, value in told) for name in names)
