"""What a run does to its gradients, as it happens: backward, step, clear come in; verdicts go out.

A slot here is (optimizer, parameter), so two optimizers that step on one backward, or share an encoder, each consume
what is theirs. A step is judged before it runs, because a later torch may clear inside it. A backward inside a step
(LBFGS, SAM closures) belongs to that step. Lifecycle rules are judged here, by the states; idioms by the detectors.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.core.findings import Finding
from zerograd.core.machine import HOLLOW
from zerograd.rules.rule import Rule
from zerograd.run.account import Account
from zerograd.run.accounts import Accounts
from zerograd.run.chronicle import Chronicle
from zerograd.run.deposit import Deposit, scalar
from zerograd.run.detectors import Detectors
from zerograd.run.judging import Judge
from zerograd.run.norms import Norms
from zerograd.run.pace import Pace
from zerograd.run.routine import Routine
from zerograd.run.sites import user_site
from zerograd.run.thread import Backward, Thread
from zerograd.trace.coverage import Coverage

_EARLY = 64  # backwards that are remembered for an optimizer that has not stepped yet


class Watcher:
    def __init__(
        self, *, rules: Sequence[Rule], report: Callable[[Finding], None], full: bool = False, sample: int = 1,
        log: Callable[[Event], None] | None = None,
    ) -> None:  # fmt: skip
        self._rules = tuple(rules)
        self.pace = Pace(self)
        self._report = self.pace.counting(report)
        self._full, self._sample = full, max(1, sample)
        self.chronicle = Chronicle(log, full=full)
        self.told_whole = sample > 2 or log is not None  # a trace tells of every step, a sample looks at few
        self.backwards = 0
        self.steps = 0
        self.slots = 0  # of the optimizers that stepped; kept here, because accounts die with their optimizers
        self.epoch = 0  # passes over a DataLoader that have begun
        self.norms = Norms(self.chronicle) if full else None
        self.unaudited: Counter[str] = Counter()  # steps that nothing is said about, by the reason
        self.open_books()

    def open_books(self) -> None:
        """Begin with empty ones: what stood in the old ones may have changed while nobody looked."""
        self.accounts = Accounts(self.chronicle, self._opened)
        self.mine = Thread()
        self.detectors = Detectors(self._rules, self._report, full=self._full)
        self.judge = Judge(self._rules, self._report, self.accounts)

    def _opened(self, account: Account) -> None:
        """An account was opened. What lies there already may be known from before."""
        full = account.standing().content not in HOLLOW
        if full:
            account.window.deposits = self.mine.first_window()
            account.books.tell([deposit.event for deposit in self.mine.early])
        account.window.whole = not self.mine.gap and (not full or bool(account.window.deposits))

    def close_books(self) -> None:
        """The audit stops."""
        self.pace.leave()
        if self.norms is not None:
            self.norms.finish()
        self.detectors.ended(self.accounts.ours())
        self.chronicle.covers(Coverage.of(self.steps, self.unaudited), last=True)
        self.judge.conclude()
        self.chronicle.finish()
        self.detectors.forget()
        for account in self.accounts.everyone():
            account.reopen()  # it keeps no reference, which torch.utils.swap_tensors would refuse

    def forked(self) -> None:
        """Count from zero, on the books that were inherited."""
        self.accounts.forked()
        self.chronicle.forked()
        self.steps = self.backwards = 0
        self.unaudited.clear()

    @property
    def asleep(self) -> bool:
        """Whether nobody looks now. Of a sampled run two steps in a row are looked at: a fault takes two."""
        return self.mine.aside > 0 or (self._sample > 2 and self.mine.steps % self._sample > 1)

    # Deposits

    def before_backward(self, roots: Sequence[Tensor], *, seeds: Any, kept: bool) -> Backward | Routine | None:
        mine = self.mine
        mine.depth += 1
        if mine.depth > 1:
            return None
        if mine.aside:
            mine.captured(backwards=1)
            return None
        try:
            self.backwards += 1
            mine.backwards += 1
            if mine.routine.going:
                if not kept and self.pace.depositing(roots):
                    return mine.routine
                self.pace.leave()
            if self.asleep:
                return None
            deposit = self._deposit([root for root in roots if isinstance(root, Tensor)], seeds, kept=kept)
            if kept:
                mine.routine.spoil()
            self.chronicle.begins(Kind.DEPOSIT)
            return Backward(deposit, [(one, one.before_deposit(deposit.site)) for one in self.accounts.ours()])
        except BaseException:
            mine.depth -= 1
            raise

    def asked(self) -> None:
        """autograd.grad() is called: somebody wants gradients, and puts them where he likes."""
        self.mine.asked += 1
        self.detectors.retained.used()

    def _deposit(self, roots: Sequence[Tensor], seeds: Any, *, kept: bool) -> Deposit:
        event = Event(Kind.DEPOSIT, site=user_site(), scaled=self.detectors.scaling.is_scaled(roots), what="backward()")
        deposit = Deposit(event, moment=self.accounts.clock.tick(), epoch=self.epoch, loss=scalar(roots))
        deposit.seed = scalar(seeds) if self._full else None
        self.detectors.begins(deposit, roots, self.accounts, kept=kept)
        for optimizer in self.mine.stepping.optimizers():
            account = self.accounts.own(optimizer)
            if account is not None and not account.closure.awaits(deposit.site) and account.mixes_points():
                self.judge.mixed_points(self.mine.step, deposit)
        return deposit

    def after_backward(self, backward: Backward | Routine | None, *, raised: bool = False) -> None:
        mine = self.mine
        mine.depth -= 1
        if isinstance(backward, Routine):
            self.pace.deposited(raised=raised)
            return
        if backward is None:
            return
        mine.reduced = False
        deposit, hit = backward.deposit, []
        deposit.raised = raised
        for account, look in backward.before:
            clipped = account.clipped_by
            fact = account.standing().fact if clipped is not None else None
            if account.deposited(look, deposit.event):
                if fact is not None and clipped is not None:
                    self.judge.deposit_on_clipped(account, deposit, fact, clipped)
                account.window.add(deposit)
                hit.append(account)
                numbers = self.norms.take(account, deposit.loss, deposit.site) if self.norms is not None else ()
                self.chronicle.ends(Kind.DEPOSIT, lambda: numbers + deposit.items())  # noqa: B023
            account.habits.deposited(deposit.site, raised=raised)
            account.aliases.backward()
        if not hit and not deposit.reached:
            mine.astray += 1
        if not raised:
            self.detectors.filled(deposit.site, sum(len(account.window.hit) for account in hit))
        mine.routine.note(deposit.event)
        if raised:
            mine.routine.spoil()
        mine.early = [*mine.early[-_EARLY:], deposit]
        self.detectors.deposited(deposit, hit or self.accounts.ours())
        while mine.unfollowed:
            mine.unfollowed.pop().reopen()
        for optimizer in mine.stepping.optimizers():  # a closure: the step that runs it consumes what it deposits
            account = self.accounts.taken(optimizer)
            if account.closure.awaits(deposit.site):
                continue
            if account.window.whole and mine.step is not None:
                self.detectors.fed(account, mine.step)
            account.consumed(Event(Kind.CONSUME, site=deposit.site))
        self.judge.flush()
        self.detectors.flush()

    # Steps

    def before_step(self, optimizer: Optimizer, *, closure: bool, hooked: bool) -> None:
        mine = self.mine
        if not mine.stepping.begin(optimizer):
            return  # super().step() and wrappers announce one step twice
        if mine.aside:
            mine.captured(steps=1)
            return
        self.steps += 1
        if mine.routine.going:
            as_usual = not (closure or hooked or mine.depth) and self.accounts.own(optimizer) is mine.routine.account()
            if as_usual and mine.routine.holds() and self.pace.passes(Kind.CONSUME):
                mine.steps += 1
                return
            self.pace.leave()
        if self.asleep:
            mine.steps += 1
            self.not_audited("left out by sample")
            return
        scaled = mine.scaler is not None
        account = self.accounts.taken(optimizer, by_scaler=scaled)
        self.slots += account.newly_stepped()
        what = "scaler.step()" if scaled else f"{account.called}.step()"
        event = mine.step = Event(Kind.CONSUME, account.name, user_site(), scaled=scaled, what=what)
        account.window.all_reduced = mine.reduced
        if mine.depth:
            self.not_audited("inside a backward")
            mine.unfollowed.append(account)
        else:
            account.glance()
            if account.fed_by:
                self.not_audited(account.fed_by)
                account.fed_by = ""
            if closure:  # it may feed the step: judged when it has run
                account.closure.begins(mine.backwards, event)
            else:
                self._consume(account, event, optimizer, hooked=hooked)
        mine.steps += 1
        self.chronicle.begins(Kind.CONSUME)  # not sooner: what judging takes is no part of the step

    def evaluated(self, optimizer: Optimizer, *, hooked: bool) -> None:
        """The closure of its running step has returned: see [Note: one evaluation] in closures.py."""
        account = self.accounts.own(optimizer)
        if account is None or self.mine.depth or self.mine.aside or self.asleep:
            return
        step = account.closure.returned()
        if step is not None:
            account.glance()
            self._consume(account, step, optimizer, hooked=hooked)
            self.chronicle.begins(Kind.CONSUME)  # what the closure takes is no part of the step

    def after_step(self, optimizer: Optimizer, *, hooked: Callable[[Optimizer], bool]) -> None:
        if self.mine.stepping.end(optimizer) and not self.mine.depth and not self.mine.routine.going:
            account = self.accounts.own(optimizer)
            if account is not None and not self.asleep and not self._wakes:
                fed = account.closure.ends(self.mine.backwards)
                # A closure that skips its batch (Lightning: training_step returns None) leaves nothing, and means it.
                if fed is False and self.mine.step is not None and account.standing().content not in HOLLOW:
                    self._consume(account, self.mine.step, optimizer, hooked=hooked(optimizer))
                if fed and not account.closure.judged:
                    self.not_audited("fed by a closure")
                    self.judge.fed(account, self.mine.step)
                account.after_step()
            self.chronicle.ends(Kind.CONSUME)
            self.turn()

    @property
    def _wakes(self) -> bool:
        """Whether nobody has looked for a while, at this step neither, and the next ones are looked at."""
        return self._sample > 2 and self.mine.steps % self._sample == 0

    def not_audited(self, why: str, steps: int = 1) -> None:
        """Steps have happened that nothing can be said about."""
        self.unaudited[why] += steps
        self.chronicle.covers(Coverage.of(self.steps, self.unaudited))

    def turn(self) -> None:
        """A step is over. Where nobody has looked for a while, the books begin anew: see [Note: unseen]."""
        if self._wakes:
            self.mine.early, self.mine.gap = [], True
            self.detectors.gap()
            self.judge.gap()
            for account in self.accounts.ours():
                account.reopen()

    def _consume(self, account: Account, event: Event, optimizer: Optimizer, *, hooked: bool) -> None:
        plain = not (hooked or account.closure.running or self.told_whole) and self.pace.is_plain(account)
        patience = partial(self.detectors.patience, account, self.accounts)
        left = not account.habits.nourished and self.mine.work().left_a_loss(account.work)
        scale = self.mine.scaler.get_scale if self.mine.scaler is not None else float
        self.judge.consume(account, event, hooked=hooked, left_a_loss=left, patience=patience, scale=scale)
        if account.window.whole:
            self.detectors.consuming(account, event, scaler=self.mine.scaler)
            others = self.accounts.sharing(optimizer)
            if others and len(self.mine.stepping.optimizers()) == 1:
                self.detectors.doubled.stepping(account, event, others)
            account.habits.stepped(account.window.size())
        account.window.settle(account.number, self.accounts.clock.tick())
        read = self.norms is not None and self.chronicle.is_kept
        told = event._replace(numbers=self.detectors.syncing.consumed(account)) if read else event
        account.consumed(self.chronicle.scaled(told, self.mine.scaler, optimizer))
        if not account.habits.nourished:
            account.work = self.mine.work()
        self.judge.flush()
        self.detectors.flush()
        self.pace.round_ended(account, event, plain=plain)
