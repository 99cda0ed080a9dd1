"""What a run does to its gradients, as it happens: backward, step, clear come in; verdicts go out.

A slot here is (optimizer, parameter), so two optimizers that step on one backward, or share an encoder, each consume
what is theirs. A step is judged before it runs, because a later torch may clear inside it. A backward inside a step
(LBFGS, SAM closures) belongs to that step.

[Note: threads] An account is opened by a step and belongs to the thread that steps; only that thread looks at it.
Reading a `.grad` while another thread's backward writes it ends the process, and of an optimizer that has not stepped
nobody can tell whose it will be. Nothing is missed: no fault begins before the first step.
"""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.core.findings import Finding
from zerograd.core.judgement import judge
from zerograd.core.machine import Content
from zerograd.rules.rule import Rule
from zerograd.rules.telling import tell
from zerograd.run.account import Account
from zerograd.run.books import Clock
from zerograd.run.sites import user_site
from zerograd.run.slots import Look
from zerograd.run.stepping import Stepping
from zerograd.run.sureness import count_starving, doubts


class Backward(NamedTuple):
    """A backward in progress: what lay in each account when it began."""

    event: Event
    before: list[tuple[Account, Look]]


class _Mine(threading.local):
    """What one thread is in the middle of."""

    def __init__(self) -> None:
        self.depth = 0  # backwards inside backwards: reentrant checkpointing
        self.steps = 0
        self.stepping = Stepping()
        self.unfollowed: list[Account] = []  # stepped inside the backward that is running


class Watcher:
    def __init__(self, *, rules: Sequence[Rule], report: Callable[[Finding], None]) -> None:
        self._rules = tuple(rules)
        self._report = report
        self.backwards = 0
        self.steps = 0
        self.slots = 0  # of the optimizers that stepped; kept here, because accounts die with their optimizers
        self.open_books()

    def open_books(self) -> None:
        """Begin with empty ones: what stood in the old ones may have changed while nobody looked."""
        self._accounts: WeakKeyDictionary[Optimizer, Account] = WeakKeyDictionary()
        self._clock = Clock()
        self._mine = _Mine()
        self._lock = threading.RLock()

    def forked(self) -> None:
        """Count from zero, on the books that were inherited. The lock may be held by a thread that is not here."""
        self._lock = threading.RLock()
        self.steps = self.backwards = 0

    # Accounts. See [Note: threads].

    def _taken(self, optimizer: Optimizer) -> Account:
        """The account of an optimizer that this thread steps. What another thread knew of it is of no use here."""
        thread = threading.get_ident()
        with self._lock:
            account = self._accounts.get(optimizer)
            if account is None or account.thread != thread:
                counted = account.counted if account else 0
                account = Account(optimizer, clock=self._clock, thread=thread, counted=counted)
                self._accounts[optimizer] = account
        return account

    def _own(self, optimizer: Optimizer) -> Account | None:
        """The account of an optimizer that this thread has stepped before."""
        account = self._accounts.get(optimizer)
        return account if account is not None and account.thread == threading.get_ident() else None

    def _everyone(self) -> list[Account]:
        with self._lock:
            return list(self._accounts.values())

    def _ours(self) -> list[Account]:
        thread = threading.get_ident()
        return [account for account in self._everyone() if account.thread == thread]

    def _sharing(self, optimizer: Optimizer) -> list[Account]:
        """The accounts of this thread, but its own, that hold some of its parameters."""
        own = self._own(optimizer)
        if own is None:
            ids = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            return [account for account in self._ours() if not ids.isdisjoint(account.ids())]
        if own.kin_at != self._clock.turnovers:  # worked out anew only when parameters have come or gone
            ids = set(own.ids())
            own.kin = [account for account in self._ours() if account is not own and not ids.isdisjoint(account.ids())]
            own.kin_at = self._clock.turnovers
        return own.kin

    # Deposits

    def before_backward(self) -> Backward | None:
        mine = self._mine
        mine.depth += 1
        if mine.depth > 1:
            return None
        try:
            self.backwards += 1
            event = Event(Kind.DEPOSIT, site=user_site(), what="backward()")
            return Backward(event, [(account, account.before_deposit()) for account in self._ours()])
        except BaseException:
            mine.depth -= 1
            raise

    def after_backward(self, backward: Backward | None) -> None:
        mine = self._mine
        mine.depth -= 1
        if backward is None:
            return
        for account, look in backward.before:
            account.deposited(look, backward.event)
        while mine.unfollowed:
            mine.unfollowed.pop().reopen()
        for optimizer in mine.stepping.optimizers():  # a closure: the step that runs it consumes what it deposits
            self._taken(optimizer).consumed(Event(Kind.CONSUME, site=backward.event.site))

    # Clears and clips

    def clearing(self, optimizer: Optimizer | None) -> list[Account]:
        """zero_grad() of this optimizer, or of some module, begins. Returns the accounts that it may clear.

        They are settled first, so that what changes from here on is its doing. Only the optimizer's own account is
        not: there it clears whatever there is.
        """
        if self._mine.depth:
            return []  # a hook inside a backward: what it leaves is seen when the backward is over
        accounts = self._ours() if optimizer is None else self._sharing(optimizer)
        for account in accounts:
            account.settle()
        return accounts

    def cleared(self, optimizer: Optimizer | None, accounts: list[Account], *, to_none: bool) -> None:
        """That zero_grad() has returned. Looked at now, it is known which line has cleared."""
        if self._mine.depth:
            return
        clear = Event(Kind.CLEAR, site=user_site(), what="zero_grad()")
        own = self._own(optimizer) if optimizer is not None else None
        if own is not None:
            own.cleared(clear, to_none=to_none)
        for account in accounts:
            account.settle(clear)

    def clipped(self) -> None:
        """A clip has returned: what it wrote back is what was there, shorter."""
        if not self._mine.depth:
            for account in self._ours():
                account.clipped()

    def swapping(self) -> None:
        """Two tensors are about to change places, which torch refuses to do to tensors with weak references."""
        for account in self._ours():
            account.reopen()

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
        mine.steps += 1
        account = self._taken(optimizer)
        self.slots += account.newly_stepped()
        if mine.depth:
            mine.unfollowed.append(account)
        elif not closure:  # one that has a closure is fed by it: nothing can be said before it has run
            account.glance()
            self._consume(account, hooked=hooked)

    def after_step(self, optimizer: Optimizer) -> None:
        if self._mine.stepping.end(optimizer) and not self._mine.depth:
            account = self._own(optimizer)
            if account is not None:
                account.after_step()

    def skipped_step(self, optimizer: Optimizer) -> None:
        """A GradScaler found infinities and did not step: the gradients have had their chance all the same."""
        account = self._taken(optimizer)
        account.settle()
        account.consumed(Event(Kind.CONSUME, site=user_site(), scaled=True, what="scaler.step()"))
        account.after_step()

    def _consume(self, account: Account, *, hooked: bool) -> None:
        event = Event(Kind.CONSUME, account.name, user_site(), what=f"{account.name}.step()")
        if account.standing().content is not Content.FRESH:
            account.ask()
        standing = account.standing()
        count_starving(account, event.site, standing.fact)
        fact = standing.fact
        if standing.content is not Content.FRESH:
            excuses = doubts(account, event.site, others=self._everyone(), hooked=hooked)
            fact = fact._replace(doubts=fact.doubts | excuses)
        for verdict in judge(frozenset({fact}), event, self._rules):
            self._report(tell(verdict, standing.trail))
        account.consumed(event)
