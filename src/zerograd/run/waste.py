"""Backwards whose gradients are cleared before any step reads them (ZG002).

Erasing is legal: probes, penalties, skipped batches and by-catch all do it. It is a fault in two cases.

Micro-batches: the same line is used by every N-th step and erased in between, again and again. They were meant to be
accumulated.

For nothing: before every step the same lines are erased, as often each time; the gradients were this optimizer's alone,
and the program never looks at a gradient. Then whatever they were made for, nothing came of it.
"""

from collections import Counter

from zerograd.core.events import Event, Site
from zerograd.core.findings import Related
from zerograd.rules.discarded_gradient import KEEP, UNUSED
from zerograd.rules.telling import ERASED, ERASED_FIX, note
from zerograd.run.account import Account
from zerograd.run.bytecode import in_one_body
from zerograd.run.detector import Detector
from zerograd.run.readers import nobody_looks
from zerograd.run.sites import user_frame

_WASTED, _USED = 4, 2
_ROUNDS = 4  # steps, from the first or second on, before each of which the same was erased: a guard does not do that
_Line = tuple[int, Site]  # what a backward's line does for one account: for another it is by-catch


class Waste(Detector):
    codes = ("ZG002",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._wasted: Counter[_Line] = Counter()
        self._groups: dict[
            _Line, tuple[int, int]
        ] = {}  # erased before the last one that was used, and since which step
        self._clears: dict[_Line, Event] = {}
        self._erased: dict[int, Counter[Site]] = {}  # since the last step of each account
        self._rounds: dict[int, tuple[Counter[Site], int]] = {}  # the same of its last step, and since which step
        self._judged: dict[Site, bool] = {}  # lines whose backwards are erased; whether for nothing

    def done_with(self, site: Site) -> bool:
        return all(line[1] in self._judged for line in self._wasted)

    def gap(self) -> None:
        for known in (self._wasted, self._groups, self._clears, self._erased, self._rounds):
            known.clear()

    def clearing(self, account: Account, clear: Event) -> None:
        if not account.window.deposits or account.window.edited or account.closure.moved():
            return  # somebody has used them by hand: gradient surgery, SAM, hand-written updates
        for deposit in account.window.deposits:
            if deposit.settled is None and not deposit.raised:
                self._wasted[account.number, deposit.site] += 1
                self._clears[account.number, deposit.site] = clear
                if deposit.alone == account.number:
                    self._erased.setdefault(account.number, Counter())[deposit.site] += 1

    def consuming(self, account: Account, step: Event) -> None:
        if not self._clears:
            return
        self._for_nothing(account, step)
        self._micro_batches(account, step)

    def _for_nothing(self, account: Account, step: Event) -> None:
        erased = self._erased.pop(account.number, Counter())
        usual, since = self._rounds.get(account.number, (erased, account.steps))
        since = since if erased == usual else account.steps
        self._rounds[account.number] = erased, since
        if not erased or not account.window.deposits or since > 1 or account.steps - since + 1 < _ROUNDS:
            return
        for site in erased:
            if site not in self._judged:
                self._judged[site] = nobody_looks(user_frame())
            if self._judged[site]:
                clear = self._clears[account.number, site]
                self._tell(UNUSED, KEEP, clear, step, erased=site)

    def _micro_batches(self, account: Account, step: Event) -> None:
        window = account.window
        if len(window.deposits) != 1 or window.edited:
            return
        site = window.deposits[0].site
        line = (account.number, site)
        wasted = self._wasted.pop(line, 0)
        usual, since = self._groups.get(line, (wasted, account.steps))
        since = since if wasted == usual else account.steps
        self._groups[line] = wasted, since
        times = account.steps - since + 1
        if (
            since > 1 or times < _USED or times * wasted < _WASTED
        ):  # the first window may have begun before anyone looked
            return
        if in_one_body(user_frame(), site):
            self._judged[site] = False  # it is said already
            clear = self._clears[line]
            self._tell(ERASED, ERASED_FIX, clear, step, erased=site)

    def _tell(self, message: str, fix: str, clear: Event, step: Event, *, erased: Site) -> None:
        rule = self.rules.get("ZG002")
        if rule is None or clear.site is None:
            return
        related = tuple(Related(site, part) for site, part in _parts(erased, step) if site != clear.site)
        told = rule._replace(message=message, remedy=fix)
        names = {"what": clear.what, "clear": clear.what, "line": str(erased.line)}
        self._report(note(told, clear.site, certain=True, related=related, **names))


def _parts(erased: Site, step: Event) -> list[tuple[Site, str]]:
    known = [(erased, "computes the gradients"), (step.site, "never gets them")]
    return [(site, part) for site, part in known if site is not None and site.line]
