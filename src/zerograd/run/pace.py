"""Whether a loop does the same over and over, and what is left to do while it does. See [Note: routine]."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from zerograd.core.events import Event, Kind
from zerograd.core.findings import Finding
from zerograd.core.machine import Content
from zerograd.run.account import Account
from zerograd.run.deposit import scalar
from zerograd.run.retelling import retell
from zerograd.run.sites import user_site

if TYPE_CHECKING:  # the watcher walks at this pace
    from zerograd.run.watcher import Watcher


class Pace:
    def __init__(self, watcher: "Watcher") -> None:
        self._watcher = watcher
        self._said = 0  # findings of whatever kind, possible ones and notes as well
        self._said_before = 0  # up to the last step

    def counting(self, report: Callable[[Finding], None]) -> Callable[[Finding], None]:
        def counted(finding: Finding) -> None:
            self._said += 1
            report(finding)

        return counted

    def is_plain(self, account: Account) -> bool:
        """A step is about to read. Whether there is nothing in its round that would have to be asked again."""
        watcher, standing = self._watcher, account.standing()
        deposits = account.window.deposits
        return (
            standing.content is Content.FRESH
            and not standing.fact.doubts
            and account.quiet
            # In full mode the losses of a window are compared; one alone has nothing to be compared with.
            and bool(deposits if watcher.norms is None else len(deposits) == 1)
            and watcher.mine.scaler is None
            and all(one is account or one.idle for one in watcher.accounts.ours())
            and all(watcher.detectors.done_with(site) for site in {deposit.site for deposit in deposits})
        )

    def round_ended(self, account: Account, step: Event, *, plain: bool) -> None:
        """The step has consumed, and everything about it was said."""
        self._watcher.mine.routine.note(step)
        silent, self._said_before = self._said == self._said_before, self._said
        self._watcher.mine.routine.round_ended(account, plain=plain and silent)

    def passes(self, kind: Kind) -> bool:
        """Whether this is what the routine expects next."""
        return self._watcher.mine.routine.passes(kind, user_site()) is not None

    def depositing(self, roots: Sequence[Tensor]) -> bool:
        """A backward begins: whether the routine expects it."""
        watcher, routine = self._watcher, self._watcher.mine.routine
        if roots and not watcher.detectors.as_before(routine.place(), roots, watcher.accounts):
            return False  # a graph that has grown: something was unfrozen
        due = self.passes(Kind.DEPOSIT)
        if due:
            routine.depositing(scalar(roots))
        return due

    def deposited(self, *, raised: bool) -> None:
        """A backward of the routine is over."""
        watcher, routine = self._watcher, self._watcher.mine.routine
        account = routine.account()
        if not routine.going:
            return
        if not raised and routine.deposited():
            if watcher.norms is not None and account is not None:
                watcher.norms.take(account, routine.loss, routine.site, ticked=routine.rounds)
            return
        self.leave()
        if account is None:
            return
        if raised and account.window.deposits:
            account.window.deposits[-1].raised = True
        elif not raised:
            account.reopen()  # nobody has looked before it: what it did cannot be told

    def leave(self) -> None:
        """Something is not as always: tell the books what was only ticked off."""
        watcher, routine = self._watcher, self._watcher.mine.routine
        if not routine.going:
            return
        account = routine.account()
        passed, losses = routine.leave()
        for clear in passed[:1]:  # a round begins with its clear
            watcher.judge.cleared(clear, to_none=True)
        if account is not None:
            retell(account, passed, losses, clock=watcher.accounts.clock, epoch=watcher.epoch)
