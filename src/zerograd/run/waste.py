"""Backwards whose gradients are cleared before any step reads them, in a line that is otherwise used (ZG002).

Erasing is legal: probes, penalties, skipped batches and by-catch all do it. It is a fault where the same line is used
by every N-th step and erased in between, again and again: micro-batches that were meant to be accumulated.
"""

from collections import Counter

from zerograd.core.events import Event, Site
from zerograd.rules.telling import ERASED, note
from zerograd.run.account import Account
from zerograd.run.bytecode import in_one_body
from zerograd.run.detector import Detector
from zerograd.run.sites import user_frame

_WASTED, _USED = 4, 2
_Line = tuple[int, Site]  # what a backward's line does for one account: for another it is by-catch


class _Use:
    """How many backwards of a line were erased before each one that was used."""

    def __init__(self) -> None:
        self._first: int | None = None  # its window may have begun before anyone looked
        self._each: int | None = None  # in each of the others; None: not always the same number
        self._others = 0

    def add(self, erased: int) -> None:
        if self._first is None:
            self._first = erased
            return
        self._each = erased if not self._others or self._each == erased else None
        self._others += 1

    @property
    def is_wasteful(self) -> bool:
        """Whether the line is used the same way again and again, and more of it is erased than some probe would be."""
        whole = self._others + (self._first == self._each)
        return whole >= _USED and whole * (self._each or 0) >= _WASTED


class Waste(Detector):
    codes = ("ZG002",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._wasted: Counter[_Line] = Counter()
        self._uses: dict[_Line, _Use] = {}
        self._clears: dict[_Line, Event] = {}

    def done_with(self, site: Site) -> bool:
        return not self._wasted

    def clearing(self, account: Account, clear: Event) -> None:
        if not account.window.deposits or account.window.edited or account.closure.moved():
            return  # somebody has used them by hand: gradient surgery, SAM, hand-written updates
        for deposit in account.window.deposits:
            if deposit.settled is None and not deposit.raised:
                self._wasted[account.number, deposit.site] += 1
                self._clears[account.number, deposit.site] = clear

    def consuming(self, account: Account, step: Event) -> None:
        window = account.window
        if len(window.deposits) != 1 or window.edited:
            return
        site = window.deposits[0].site
        line = (account.number, site)
        use = self._uses.setdefault(line, _Use())
        use.add(self._wasted.pop(line, 0))
        if not use.is_wasteful:
            return
        clear, rule = self._clears[line], self.rules.get("ZG002")
        if rule is not None and clear.site is not None and in_one_body(user_frame(), site):
            told = note(rule, clear.site, certain=True, step=step.what, clear=clear.what, deposit="backward()")
            self._report(told._replace(message=ERASED.format(what=clear.what)))
