"""Accumulation as it happened: windows of unequal size, tails that nobody stepped, groups that were never formed.

Only what is proved is certain. A first window of one micro-batch before windows of N, with a counter that was 0 at the
first step, is a guard that is off by one (ZG103). A tail is a note (ZG102). That accumulation was meant and does not
happen (ZG106) shows in the loss: it is divided by a number that the program calls accumulation, and every backward has
a step of its own.
"""

from collections.abc import Sequence
from types import FrameType

from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.losses import read
from zerograd.run.sites import names_in, user_frame

_ACCOUNTS = 64
_EARLY = 8  # backwards of a line whose loss is read
_FOREIGN = ("builtins", "torch", "numpy", "zerograd")  # whose objects keep no settings of the program
_ALIKE = 3  # windows of one size after a first of one: chance does not do that


class Groups(Detector):
    codes = ("ZG102", "ZG103", "ZG106")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._meant: dict[Site, tuple[str, int] | None] = {}  # what a line's loss is divided by, and its name
        self._seen: dict[Site, int] = {}
        self._counters: dict[Account, list[dict[str, int]]] = {}  # the program's whole numbers at its first steps
        self._last_step: dict[Account, Event] = {}  # accounts outlive their optimizers here, to be asked at the end

    def done_with(self, site: Site) -> bool:
        return self._meant.get(site) is None

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        seen = self._seen[deposit.site] = self._seen.get(deposit.site, 0) + 1
        if seen <= _EARLY and "ZG106" in self.rules and roots:
            factor = deposit.reading.factor if deposit.reading else read(roots[0]).factor
            size = round(1 / factor) if 0 < factor <= 0.5 else 0
            named = _called_accumulation(user_frame(), size) if size and abs(size * factor - 1) < 1e-6 else None
            meant = (named, size) if named else None
            if self._meant.setdefault(deposit.site, meant) != meant:
                self._meant[deposit.site] = None  # it is not always divided, or not by the same: then nobody knows

    def consuming(self, account: Account, step: Event) -> None:
        if account in self._last_step or len(self._last_step) < _ACCOUNTS:
            self._last_step[account] = step
        window, habits = account.window, account.habits
        size = window.size()
        if len(habits.sizes) <= _ALIKE:
            sizes = [*habits.sizes, size]
            if sizes[0] == 1:
                self._counters.setdefault(account, []).append(_whole_numbers(user_frame()))
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
        if first != 1 or not rest or set(rest) != {rest[0]} or rest[0] < 2:
            return
        if (left is None and len(rest) == _ALIKE) or (left == rest[0] - 1 and len(rest) < _ALIKE):
            site, size = step.site or Site("<unknown>", 0), str(rest[0])
            off_by_one = _counts_from_zero(self._counters.get(account, []), rest[0])
            self.say("ZG103", site, certain=off_by_one, test=step.what, first="1", size=size)

    def ended(self, accounts: Sequence[Account]) -> None:
        for account, step in self._last_step.items():
            left, sizes = account.window.size(), account.habits.sizes
            if all(deposit.finite() for deposit in account.window.deposits):
                self._uneven(account, step, sizes, left=left)
            usual = account.habits.usual() or 1
            if 0 < left < usual and sizes[0] == usual:
                self.say("ZG102", step.site or Site("<unknown>", 0), certain=True, size=str(usual))


def _whole_numbers(frame: FrameType | None) -> dict[str, int]:
    """The whole numbers that the program has names for, where it steps; those of `self` too."""
    names = names_in(frame, lambda value: type(value) is int or _keeps_settings(value))
    inner = {key: held for value in names.values() if _keeps_settings(value) for key, held in vars(value).items()}
    return {name: value for name, value in {**inner, **names}.items() if type(value) is int}


def _counts_from_zero(at_steps: list[dict[str, int]], size: int) -> bool:
    """Whether some number was 0 at the first step and went up by `size` with each: a guard that is off by one.

    A run that resumes in the middle of a group has a first window of one as well, at another count.
    """
    return len(at_steps) > 1 and any(
        value == 0 and all(step.get(name) == i * size for i, step in enumerate(at_steps))
        for name, value in at_steps[0].items()
    )


def _called_accumulation(frame: FrameType | None, size: int) -> str | None:
    """The name under which the program knows `size` as its accumulation, if it does."""
    if size < 2:
        return None
    names = names_in(frame, lambda value: type(value) is int or type(value) is dict or _keeps_settings(value))
    for name, value in names.items():
        if "accum" in name.lower() and type(value) is int and value == size:
            return name
        inner: dict[object, object] = value if isinstance(value, dict) else getattr(value, "__dict__", {})
        for key, held in list(inner.items()) if type(value) is not int else ():
            if "accum" in str(key).lower() and type(held) is int and held == size:
                return f"{name}.{key}"
    return None


def _keeps_settings(value: object) -> bool:
    """Whether this is an object of the program's own with plain attributes: `args`, `config`, `self`."""
    return type(value).__module__.partition(".")[0] not in _FOREIGN and hasattr(value, "__dict__")
