"""All detectors of a run, told of everything; and the walk through the graph that several of them ask for."""

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.core.findings import Finding
from zerograd.rules.rule import Rule
from zerograd.run.account import Account
from zerograd.run.accounts import Accounts
from zerograd.run.clipping import Clipping
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.doubled import Doubled
from zerograd.run.graph import Survey, survey
from zerograd.run.groups import Groups
from zerograd.run.leaks import Leaks
from zerograd.run.leaves import Leaves
from zerograd.run.nones import Nones
from zerograd.run.owners import Owners
from zerograd.run.reductions import Reductions
from zerograd.run.replicas import Replicas
from zerograd.run.retained import Retained
from zerograd.run.scaling import Scaling
from zerograd.run.schedules import Schedules
from zerograd.run.surveys import Surveys
from zerograd.run.syncing import Syncing
from zerograd.run.waste import Waste


class Detectors:
    def __init__(self, rules: Sequence[Rule], report: Callable[[Finding], None], *, full: bool) -> None:
        known = {rule.code: rule for rule in rules}
        self._report = report
        self._pending: deque[Finding] = deque()  # two threads may add to it and take from it at once
        say = self._pending.append
        self.scaling, self.schedules, self.clipping = Scaling(known, say), Schedules(known, say), Clipping(known, say)
        self.syncing, self.retained, self.nones = Syncing(known, say), Retained(known, say), Nones(known, say)
        self._owners, self.groups, self._leaks = Owners(known, say), Groups(known, say), Leaks(known, say)
        reading = [Reductions(known, say)] if full else []
        self._leaves = Leaves(known, say)
        idioms = [self._leaks, Waste(known, say), self.groups, self._owners, self._leaves]
        replicas = Replicas(known, say, syncing=self.syncing)
        self._listening: list[Detector] = [*reading, *idioms, self.retained, self.syncing, replicas, self.scaling]
        self._ears = _ears(self._listening)
        self.lost: tuple[str, ...] = ()  # rules whose detector has failed
        self.doubled = Doubled(known, say)
        self._surveys = Surveys()

    def flush(self) -> None:
        """Say what was found. Only when the books are in order again: whoever hears it may raise."""
        while self._pending:
            with contextlib.suppress(IndexError):  # another thread was faster
                finding = self._pending.popleft()
                self._report(finding)

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Accounts, *, kept: bool) -> None:
        if roots:
            found = self._survey(deposit.site, roots, accounts)
            deposit.passed, deposit.alone = found.behind, found.alone
            deposit.reached, deposit.fills, deposit.probes = found.leads_somewhere, found.owned, bool(found.inputs)
        self._tell("begins", deposit, roots, accounts.ours(), kept=kept)

    def _tell(self, event: str, *args: object, **kwargs: object) -> None:
        """A detector that fails must not take the user's program with it. It is heard no more; the summary says so."""
        for detector, hear in self._ears[event]:
            try:
                hear(*args, **kwargs)
            except Exception:
                self._listening.remove(detector)
                self._ears = _ears(self._listening)
                self.lost += tuple(dict.fromkeys((*detector.codes, *detector.rules)))

    def _survey(self, site: Site, roots: Sequence[Tensor], accounts: Accounts) -> Survey:
        turnovers = accounts.clock.turnovers
        found, new = self._surveys.of(site, roots, turnovers=turnovers, walk=lambda: survey(roots, accounts.owners()))
        if new and accounts.expecting and accounts.met(found.reached()):
            return self._survey(site, roots, accounts)
        if new:
            if self._owners.surveyed(site, found, owned=accounts.owned):
                for account in accounts.ours():
                    account.fed.strangers()
            self._leaks.surveyed(found)
            self._leaves.surveyed(site, found)
            self.syncing.search()
        return found

    def filled(self, site: Site, slots: int) -> None:
        """A backward of this line is over, which has filled so many slots."""
        self._surveys.filled(site, slots)

    def as_before(self, site: Site, roots: Sequence[Tensor], accounts: Accounts) -> bool:
        """Whether nobody has to be told of this line's loss: it fills what it always did."""
        turnovers = accounts.clock.turnovers
        self._survey(site, roots, accounts)
        done = self._owners.done_with(site) and self._leaves.done_with(site)
        return done and accounts.clock.turnovers == turnovers

    def done_with(self, site: Site) -> bool:
        """Whether more backwards of this line, like those before, would tell nobody anything."""
        return all(detector.done_with(site) for detector in self._listening)

    def forget(self) -> None:
        """Tensors change places: keep no reference to any."""
        self._surveys.forget()
        self._owners.forget()
        self._leaves.forget()

    def patience(self, account: Account, accounts: Accounts) -> float:
        """How many steps may starve before they are called so: gradients may go to parameters without an owner."""
        return self._owners.patience(account, owned=accounts.owners())

    def deposited(self, deposit: Deposit, accounts: Sequence[Account]) -> None:
        self._tell("deposited", deposit, accounts)
        self.flush()

    def consuming(self, account: Account, step: Event, *, scaler: Any) -> None:
        self._tell("consuming", account, step)
        if not account.steps:
            self.schedules.first_step(account, step)
        if scaler is not None:
            self.scaling.consumed_by(scaler, account, step)

    def fed(self, account: Account, step: Event) -> None:
        self._tell("fed", account, step)

    def clearing(self, account: Account, clear: Event) -> None:
        self._tell("clearing", account, clear)

    def gap(self) -> None:
        self._tell("gap")

    def ended(self, accounts: Sequence[Account]) -> None:
        self._tell("ended", accounts)
        self.flush()


def _ears(detectors: Sequence[Detector]) -> dict[str, list[tuple[Detector, Callable[..., None]]]]:
    """Who is told of what. Most are deaf to most events, and a call that does nothing costs as much as any."""
    return {
        event: [(one, getattr(one, event)) for one in detectors if getattr(type(one), event) is not deaf]
        for event, deaf in vars(Detector).items()
        if event in ("begins", "deposited", "consuming", "fed", "clearing", "gap", "ended")
    }
