"""Every account of a run, and whose it is.

[Note: threads] An account is opened by a step and belongs to the thread that steps; only that thread looks at it.
Reading a `.grad` while another thread's backward writes it ends the process, and of an optimizer that has not stepped
nobody can tell whose it will be. Nothing is missed: no fault begins before the first step.
"""

import threading
from weakref import ref

from torch.optim import Optimizer

from zerograd.run.account import Account
from zerograd.run.books import Clock
from zerograd.run.chronicle import Chronicle
from zerograd.run.naming import called
from zerograd.run.sites import user_frame


class Accounts:
    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self.clock = Clock()
        self._accounts: dict[int, Account] = {}  # by the id of the optimizer, for as long as it lives
        self._optimizers: dict[int, ref[Optimizer]] = {}
        self._ours: dict[int, tuple[int, list[Account]]] = {}  # in each thread, as it was after so many changes
        self._changes = 0
        self._lock = threading.RLock()
        self.owned: set[int] = set()  # ids of parameters that an optimizer held once: whoever lets go of one means it

    def forked(self) -> None:
        """The lock may be held by a thread that is not here."""
        self._lock = threading.RLock()

    def taken(self, optimizer: Optimizer, *, by_scaler: bool = False) -> Account:
        """The account of an optimizer that this thread steps. What another thread knew of it is of no use here."""
        thread, number = threading.get_ident(), id(optimizer)
        account = self._accounts.get(number)
        if account is not None and account.thread == thread:
            return account
        with self._lock:
            counted = account.counted if account else 0
            name = called(user_frame(), by_scaler=by_scaler)
            account = Account(optimizer, clock=self.clock, thread=thread, counted=counted, called=name)
            self._accounts[number] = account
            self._optimizers[number] = ref(optimizer, lambda _: self._died(number))
            self._changes += 1
            account.books.log = self._chronicle.opened(account, optimizer)
        return account

    def _died(self, number: int) -> None:
        self._accounts.pop(number, None)
        self._optimizers.pop(number, None)
        self._changes += 1

    def own(self, optimizer: object) -> Account | None:
        """The account of an optimizer that this thread has stepped before."""
        account = self._accounts.get(id(optimizer))
        return account if account is not None and account.thread == threading.get_ident() else None

    def everyone(self) -> list[Account]:
        return list(self._accounts.values())

    def ours(self) -> list[Account]:
        thread, changes = threading.get_ident(), self._changes
        known = self._ours.get(thread)
        if known is None or known[0] != changes:
            mine = [account for account in self.everyone() if account.thread == thread]
            known = self._ours[thread] = (changes, mine)
        return known[1]

    def sharing(self, optimizer: Optimizer) -> list[Account]:
        """The accounts of this thread, but its own, that hold some of its parameters."""
        own = self.own(optimizer)
        if own is None:
            ids = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            return [account for account in self.ours() if not ids.isdisjoint(account.slots.ids)]
        if own.kin_at != self.clock.turnovers:  # worked out anew only when parameters have come or gone
            ids = set(own.slots.ids)
            others = [account for account in self.ours() if account is not own]
            own.kin = [account for account in others if not ids.isdisjoint(account.slots.ids)]
            own.kin_at = self.clock.turnovers
        return own.kin

    def owners(self) -> dict[int, int]:
        """The number of the account that holds each parameter, by the parameter's id."""
        owners = {identity: account.number for account in self.ours() for identity in account.slots.ids}
        self.owned |= owners.keys()
        return owners
