"""What a run does to its gradients, as it happens: backward, step, clear come in; verdicts go out.

A slot here is (optimizer, parameter), so two optimizers that step on one backward, or share an encoder, each consume
what is theirs. A step is judged before it runs, because a later torch may clear inside it. A backward inside a step
(LBFGS, SAM closures) belongs to that step. Lifecycle rules are judged here, by the states; idioms by the detectors.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.core.findings import Finding
from zerograd.core.machine import HOLLOW, Content
from zerograd.rules.rule import Rule
from zerograd.run.account import Account
from zerograd.run.accounts import Accounts
from zerograd.run.clipping import limits
from zerograd.run.deposit import Deposit
from zerograd.run.detectors import Detectors
from zerograd.run.judging import Judge
from zerograd.run.norms import Norms
from zerograd.run.sites import user_site
from zerograd.run.thread import Backward, Thread

_EARLY = 64  # backwards that are remembered for an optimizer that has not stepped yet


class Watcher:
    def __init__(
        self, *, rules: Sequence[Rule], report: Callable[[Finding], None], full: bool = False, sample: int = 1,
        log: Callable[[Event], None] | None = None,
    ) -> None:  # fmt: skip
        self._rules = tuple(rules)
        self._report = report
        self._full, self._sample, self._log = full, max(1, sample), log
        self.backwards = 0
        self.steps = 0
        self.slots = 0  # of the optimizers that stepped; kept here, because accounts die with their optimizers
        self.epoch = 0  # passes over a DataLoader that have begun
        self.norms = Norms() if full else None
        self.unaudited: Counter[str] = Counter()  # steps that nothing is said about, by the reason
        self.open_books()

    def open_books(self) -> None:
        """Begin with empty ones: what stood in the old ones may have changed while nobody looked."""
        self._accounts = Accounts()
        self._mine = Thread()
        self.detectors = Detectors(self._rules, self._report, full=self._full)
        self._judge = Judge(self._rules, self._report, self._accounts)

    def close_books(self) -> None:
        """The audit stops."""
        if self.norms is not None:
            self.norms.finish()
        self.detectors.ended(self._accounts.ours())

    def forked(self) -> None:
        """Count from zero, on the books that were inherited."""
        self._accounts.forked()
        self.steps = self.backwards = 0
        self.unaudited.clear()

    @property
    def asleep(self) -> bool:
        """Whether this step of a sampled run is one that nobody looks at. Two in a row are: a fault takes two."""
        return self._sample > 2 and self._mine.steps % self._sample > 1

    # Deposits

    def before_backward(self, roots: Sequence[Tensor], *, kept: bool) -> Backward | None:
        mine = self._mine
        mine.depth += 1
        if mine.depth > 1:
            return None
        try:
            self.backwards += 1
            mine.backwards += 1
            if self.asleep:
                return None
            deposit = self._deposit([root for root in roots if isinstance(root, Tensor)], kept=kept)
            return Backward(deposit, [(account, account.before_deposit()) for account in self._accounts.ours()])
        except BaseException:
            mine.depth -= 1
            raise

    def _deposit(self, roots: Sequence[Tensor], *, kept: bool) -> Deposit:
        event = Event(Kind.DEPOSIT, site=user_site(), scaled=self.detectors.scaling.is_scaled(roots), what="backward()")
        loss = roots[0].detach() if len(roots) == 1 and roots[0].numel() == 1 else None
        deposit = Deposit(event, moment=self._accounts.clock.tick(), epoch=self.epoch, loss=loss)
        self.detectors.begins(deposit, roots, self._accounts, kept=kept)
        for optimizer in self._mine.stepping.optimizers():
            account = self._accounts.own(optimizer)
            if account is not None and account.mixes_points():
                self._judge.mixed_points(self._mine.step, deposit)
        return deposit

    def after_backward(self, backward: Backward | None, *, raised: bool = False) -> None:
        mine = self._mine
        mine.depth -= 1
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
                    self._judge.deposit_on_clipped(account, deposit, fact, clipped)
                account.window.add(deposit)
                hit.append(account)
                numbers = self.norms.take(account, deposit) if self.norms is not None else ()
                self._write(account, deposit.event._replace(numbers=numbers))
            account.habits.deposited(deposit.site, raised=raised)
            account.aliases.backward()
        self._remember(deposit)
        self.detectors.deposited(deposit, hit or self._accounts.ours())
        while mine.unfollowed:
            mine.unfollowed.pop().reopen()
        for optimizer in mine.stepping.optimizers():  # a closure: the step that runs it consumes what it deposits
            account = self._accounts.taken(optimizer)
            account.consumed(Event(Kind.CONSUME, site=deposit.site))
        self._judge.flush()

    def _remember(self, deposit: Deposit) -> None:
        self._mine.early = [*self._mine.early[-_EARLY:], deposit]

    # Clears and clips

    def clearing(self, optimizer: Optimizer | None) -> list[Account]:
        """zero_grad() of this optimizer, or of some module, begins. Returns the accounts that it may clear.

        They are settled first, so that what changes from here on is its doing. Only the optimizer's own account is
        not: there it clears whatever there is.
        """
        if self._mine.depth or self.asleep:
            return []  # a hook inside a backward: what it leaves is seen when the backward is over
        accounts = self._accounts.ours() if optimizer is None else self._accounts.sharing(optimizer)
        for account in accounts:
            account.settle()
        return accounts

    def cleared(self, optimizer: Optimizer | None, accounts: list[Account], *, to_none: bool) -> None:
        """That zero_grad() has returned. Looked at now, it is known which line has cleared."""
        if self._mine.depth or self.asleep:
            return
        self._mine.early = []
        clear = Event(Kind.CLEAR, site=user_site(), what="zero_grad()")
        own = self._accounts.own(optimizer)
        self._judge.cleared(clear, to_none=to_none)
        if own is not None:
            self.detectors.clearing(own, clear)
            own.cleared(clear, to_none=to_none)
            self._write(own, clear)
        for account in accounts:
            account.settle(clear)
            if not account.books.within({Content.FRESH, Content.MIXED}):
                self.detectors.clearing(account, clear)
                account.window.erase()

    def clipped(self, parameters: Sequence[Tensor], max_norm: object) -> None:
        """A clip has returned: what it wrote back is what was there, shorter."""
        if self._mine.depth or self.asleep:
            return
        site = user_site()
        if not parameters:
            self.detectors.clipping.reached_nobody(site)
            self.detectors.flush()
            return
        event = Event(Kind.CLIP, site=site, what="clip_grad_norm_()")
        reached = [account for account in self._accounts.ours() if account.holds(parameters[0], parameters[-1])]
        for account in reached:
            account.clipping()
        if not limits(max_norm):
            return  # it only measures
        self._judge.clip(reached, event, judged=not self._mine.stepping.optimizers())
        for account in reached:
            account.clipped(event)

    def swapping(self) -> None:
        """Two tensors are about to change places, which torch refuses to do to tensors with weak references."""
        self.detectors.forget()
        for account in self._accounts.ours():
            account.reopen()

    # Scalers and schedules

    def unscaling(self, scaler: Any, optimizer: Optimizer) -> None:
        """`scaler.unscale_()` begins."""
        account = self._accounts.own(optimizer)
        event = Event(Kind.UNSCALE, site=user_site(), what="scaler.unscale_()")
        if self.detectors.scaling.unscaled_before(scaler, optimizer, event):
            self.detectors.flush()
        elif account is not None and not self._mine.depth and not self.asleep:
            self._judge.unscale(account, event)

    def scaler_steps(self, scaler: Any, optimizer: Optimizer) -> None:
        """`scaler.step()` begins."""
        self.detectors.scaling.out_of_turn(scaler, optimizer, user_site())
        self.detectors.flush()
        self._mine.scaler = scaler if scaler.is_enabled() else None

    def scaler_stepped(self) -> None:
        self._mine.scaler = None

    def scheduled(self, scheduler: Any) -> None:
        """`scheduler.step()` begins."""
        account = self._accounts.own(getattr(scheduler, "optimizer", None))
        self.detectors.schedules.moved(scheduler, user_site(), account)
        self.detectors.flush()

    def all_reduced(self) -> None:
        """A collective runs: somebody may be averaging gradients by hand."""
        self._mine.reduced = True

    # Steps

    @property
    def steps_here(self) -> int:
        """Steps of this thread."""
        return self._mine.steps

    def before_step(self, optimizer: Optimizer, *, closure: bool, hooked: bool) -> None:
        mine = self._mine
        if not mine.stepping.begin(optimizer):
            return  # super().step() and wrappers announce one step twice
        self.steps += 1
        if self.asleep:
            mine.steps += 1
            self.unaudited["left out by sample"] += 1
            return
        new = self._accounts.own(optimizer) is None
        account = self._accounts.taken(optimizer)
        self.slots += account.newly_stepped()
        scaled = mine.scaler is not None
        what = "scaler.step()" if scaled else f"{account.name}.step()"
        event = mine.step = Event(Kind.CONSUME, account.name, user_site(), scaled=scaled, what=what)
        if new:
            account.window.deposits = list(mine.early)
            for deposit in mine.early:
                self._write(account, deposit.event)
        account.window.all_reduced = mine.reduced
        if mine.depth:
            self.unaudited["inside a backward"] += 1
            mine.unfollowed.append(account)
        else:
            account.glance()
            if closure:  # it may feed the step: judged when it has run
                account.closure.begins(mine.backwards)
            else:
                self._consume(account, event, hooked=hooked)
        mine.steps += 1

    def after_step(self, optimizer: Optimizer, *, hooked: bool) -> None:
        if self._mine.stepping.end(optimizer) and not self._mine.depth:
            account = self._accounts.own(optimizer)
            if account is not None and not self.asleep:
                fed = account.closure.ends(self._mine.backwards)
                # A closure that skips its batch (Lightning: training_step returns None) leaves nothing, and means it.
                if fed is False and self._mine.step is not None and account.standing().content not in HOLLOW:
                    self._consume(account, self._mine.step, hooked=hooked)
                if fed:
                    self.unaudited["fed by a closure"] += 1
                account.after_step()
            if self._sample > 2 and self._mine.steps % self._sample == 0:
                for other in self._accounts.ours():
                    other.reopen()  # the steps that come are looked at again

    def skipped_step(self, optimizer: Optimizer) -> None:
        """A GradScaler found infinities and did not step: the gradients have had their chance all the same."""
        account = self._accounts.taken(optimizer)
        account.settle()
        event = Event(Kind.CONSUME, account.name, user_site(), scaled=True, what="scaler.step()")
        account.window.settle(account.number, self._accounts.clock.tick())
        account.consumed(event)
        account.after_step()

    def _consume(self, account: Account, event: Event, *, hooked: bool) -> None:
        self._judge.consume(
            account, event, hooked=hooked, patience=lambda: self.detectors.patience(account, self._accounts)
        )
        self.detectors.consuming(account, event, scaler=self._mine.scaler)
        account.habits.stepped(account.window.size())
        account.window.settle(account.number, self._accounts.clock.tick())
        numbers = () if self.norms is None else self.detectors.syncing.consumed(account)
        self._write(account, event._replace(numbers=numbers))
        account.consumed(event)
        self._judge.flush()
        self.detectors.flush()

    def _write(self, account: Account, event: Event) -> None:
        if self._log is not None:
            self._log(event._replace(slot=f"{account.name}#{account.number}"))
