"""What a run does to its gradients, as it happens: backward, step, clear come in; verdicts go out.

A slot here is (optimizer, parameter), so two optimizers that step on one backward, or share an encoder, each consume
what is theirs. A step is judged before it runs, because a later torch may clear inside it. A backward inside a step
(LBFGS, SAM closures) belongs to that step.
"""

import gc
from collections.abc import Callable, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.core.facts import Fact
from zerograd.core.findings import Finding
from zerograd.core.judgement import judge
from zerograd.core.machine import Content
from zerograd.rules.rule import Rule
from zerograd.rules.telling import tell
from zerograd.run.account import Account, Look
from zerograd.run.sites import user_site


class Backward(NamedTuple):
    """A backward in progress: what lay in each account when it began."""

    event: Event
    before: list[tuple[Account, Look]]


class Watcher:
    def __init__(self, *, rules: Sequence[Rule], report: Callable[[Finding], None]) -> None:
        self._rules = tuple(rules)
        self._report = report
        self._accounts: WeakKeyDictionary[Optimizer, Account] = WeakKeyDictionary()
        self._cleared_at: Event | None = None
        self._depth = 0  # backwards inside backwards: reentrant checkpointing
        self._stepping: list[Optimizer] = []
        self.backwards = 0
        self.steps = 0
        self.slots = 0  # of the optimizers that stepped; kept here, because accounts die with their optimizers

    def adopt_living(self) -> None:
        """Take in the optimizers that were made before the watch began."""
        for thing in gc.get_objects():
            # isinstance() asks objects for __class__, and some answer with a deprecation warning.
            if issubclass(type(thing), Optimizer) and "param_groups" in vars(thing):
                self.account(thing)

    def account(self, optimizer: Optimizer) -> Account:
        account = self._accounts.get(optimizer)
        if account is None:
            account = self._accounts[optimizer] = Account(type(optimizer).__name__)
        account.adopt(optimizer)
        return account

    # Deposits

    def before_backward(self, roots: Sequence[Tensor]) -> Backward | None:
        self._depth += 1
        if self._depth > 1:
            return None
        self.backwards += 1
        event = Event(Kind.DEPOSIT, site=user_site(), what="backward()")
        looks = []
        for account in list(self._accounts.values()):
            look = account.settle(self._cleared_at)
            if account.standing()[0].content is Content.SPENT:
                account.confirm_spent(self._cleared_at)
            looks.append((account, look))
        return Backward(event, looks)

    def after_backward(self, backward: Backward | None) -> None:
        self._depth -= 1
        if backward is None:
            return
        for account, look in backward.before:
            account.deposited(look, backward.event)
        for optimizer in self._stepping:  # a closure: the step that runs it consumes what it deposits
            self.account(optimizer).move_all(Event(Kind.CONSUME, site=backward.event.site))

    # Clears

    def clearing(self) -> None:
        """zero_grad() was called. What it really cleared is seen at the next look."""
        self._cleared_at = Event(Kind.CLEAR, site=user_site(), what="zero_grad()")

    # Steps

    def before_step(self, optimizer: Optimizer, *, closure: bool) -> None:
        wrapped = optimizer in self._stepping  # super().step() and wrappers announce one step twice
        self._stepping.append(optimizer)
        if wrapped:
            return
        self.steps += 1
        account = self.account(optimizer)
        self.slots += account.newly_stepped()
        if closure or self._depth:
            return  # fed by its own closure, or run inside a backward: nothing can be said before it has run
        account.settle(self._cleared_at)
        self._consume(account)

    def after_step(self, optimizer: Optimizer) -> None:
        # An inner step that raised has no end of its own: leave everything that was opened after this one.
        while self._stepping and self._stepping.pop() is not optimizer:
            pass

    def skipped_step(self, optimizer: Optimizer) -> None:
        """A GradScaler found infinities and did not step: the gradients have had their chance all the same."""
        account = self.account(optimizer)
        account.settle(self._cleared_at)
        account.move_all(Event(Kind.CONSUME, site=user_site(), scaled=True, what="scaler.step()"))

    def _consume(self, account: Account) -> None:
        event = Event(Kind.CONSUME, account.name, user_site(), what=f"{account.name}.step()")
        state, trail = account.standing()
        for verdict in judge(frozenset({Fact(state)}), event, self._rules):
            self._report(tell(verdict, trail))
        account.move_all(event)
