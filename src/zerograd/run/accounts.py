"""Every account of a run, and whose it is.

[Note: threads] An account belongs to one thread, and only that thread looks at it: reading a `.grad` while another
thread's backward writes it ends the process. Until an optimizer has stepped, its account belongs to the thread that
last dealt with its gradients, by a backward that reaches them, a clear, a clip or a scaler; from then on to the one
that steps it. So it is opened by the first of these, and not when the optimizer is made: nobody can tell then whose it
will be.
"""

import gc
import operator
import threading
from collections.abc import Callable, Sequence
from itertools import chain, compress
from weakref import ref

from torch import Tensor
from torch.optim import Optimizer

from zerograd.run.account import Account
from zerograd.run.books import Clock
from zerograd.run.chronicle import Chronicle
from zerograd.run.naming import called
from zerograd.run.sites import user_frame
from zerograd.run.work import Work


class Accounts:
    def __init__(self, chronicle: Chronicle, greet: Callable[[Account], None]) -> None:
        """`greet` is told of every account that is opened."""
        self._chronicle, self._greet = chronicle, greet
        self.clock = Clock()
        self._accounts: dict[int, Account] = {}  # by the id of the optimizer, for as long as it lives
        self._optimizers: dict[int, ref[Optimizer]] = {}
        self._ours: dict[int, tuple[int, list[Account]]] = {}  # in each thread, as it was after so many changes
        self._changes = 0
        self._lock = threading.RLock()
        self.owned: set[int] = set()  # ids of parameters that an optimizer held once: whoever lets go of one means it
        self._unused: dict[int, ref[Optimizer]] = {}  # optimizers that have no account yet, by their id
        self._made: dict[int, Work] = {}  # what the thread had done that constructed each optimizer
        self._searched = False  # for optimizers that were made before anyone looked

    def forked(self) -> None:
        """The lock may be held by a thread that is not here."""
        self._lock = threading.RLock()

    def taken(self, optimizer: Optimizer, *, by_scaler: bool = False) -> Account:
        """The account of an optimizer that this thread steps. What another thread knew of it is of no use here."""
        account = self._accounts.get(id(optimizer))
        if account is None or account.thread != threading.get_ident():
            account = self._open(optimizer, called(user_frame(), "step", by_scaler=by_scaler))
        elif not account.stepped:
            if self.sharing(optimizer):
                self.clock.turnovers += 1  # it counts for more from now on: see owners()
            account.called = called(user_frame(), "step", by_scaler=by_scaler) or account.called
            self._chronicle.named(account)
        account.stepped = True
        return account

    def dealt_with(self, optimizer: Optimizer, *, by: str) -> Account | None:
        """The account of an optimizer whose gradients this thread deals with, by a method of this name.

        None: another thread steps it. See [Note: threads].
        """
        account = self._accounts.get(id(optimizer))
        if account is None or (account.thread != threading.get_ident() and not account.stepped):
            account = self._open(optimizer, called(user_frame(), by, by_scaler=by == "unscale_"))
        return account if account.thread == threading.get_ident() else None

    def _open(self, optimizer: Optimizer, name: str) -> Account:
        number = id(optimizer)
        with self._lock:
            before = self._accounts.get(number)
            account = Account(
                optimizer,
                clock=self.clock,
                thread=threading.get_ident(),
                counted=before.counted if before else 0,
                called=name,
                made=self._made.get(number),
            )
            self._accounts[number] = account
            self._unused.pop(number, None)
            self._optimizers[number] = ref(optimizer, lambda _: self._died(number))
            self._changes += 1
            account.books.log = self._chronicle.opened(account, optimizer)
        self._greet(account)
        return account

    def _died(self, number: int) -> None:
        self._accounts.pop(number, None)
        self._optimizers.pop(number, None)
        self._made.pop(number, None)
        self._changes += 1

    # Optimizers that nobody has used yet

    def made(self, optimizer: Optimizer, work: Work) -> None:
        """An optimizer has been constructed, by a thread that had done so much."""
        number = id(optimizer)
        self._unused[number] = ref(optimizer, lambda _: self._unused.pop(number, None))
        self._made[number] = work

    @property
    def expecting(self) -> bool:
        """Whether there may be optimizers without an account."""
        return bool(self._unused) or not self._searched

    def met(self, gradients_of: Sequence[Tensor]) -> bool:
        """This thread deals with these parameters: whoever holds one has an account now. Whether one was opened."""
        wanted, changes = {id(one): place for place, one in enumerate(gradients_of)}, self._changes
        self._open_holders_of(wanted)
        if not self._searched and not wanted.keys() <= self.owners().keys():  # 20 ms: not if all were seen made
            self._searched = True
            for living in _living():
                if id(living) not in self._accounts:
                    self._unused.setdefault(id(living), ref(living))
            self._open_holders_of(wanted)
        return self._changes != changes

    def _open_holders_of(self, wanted: dict[int, int]) -> None:
        """In the order of the parameters: every rank, and every run, counts its optimizers alike."""
        holders: list[tuple[int, str, Optimizer]] = []
        for known in list(self._unused.values()):
            optimizer = known()
            if optimizer is not None:
                places = [wanted[number] for number in map(id, _held(optimizer)) if number in wanted]
                if places:
                    holders.append((min(places), type(optimizer).__name__, optimizer))
        for _, _, optimizer in sorted(holders, key=operator.itemgetter(0, 1)):
            self.dealt_with(optimizer, by="")

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
        """The number of the account that holds each parameter, by its id: rather of one that has stepped."""
        ours = sorted(self.ours(), key=_stepped)
        owners = {identity: account.number for account in ours for identity in account.slots.ids}
        self.owned |= owners.keys()
        return owners


_stepped: Callable[[Account], bool] = operator.attrgetter("stepped")


def _living() -> list[Optimizer]:
    """Every optimizer there is, but wrappers that only hand on what another one holds."""
    objects = gc.get_objects()
    known = set(map(type, objects))
    classes = {one for one in known if issubclass(one, Optimizer)}  # not isinstance: it may run code of the object
    found = compress(objects, map(classes.__contains__, map(type, objects)))
    return [one for one in found if "param_groups" in vars(one)]


def _held(optimizer: Optimizer) -> list[Tensor]:
    return list(chain.from_iterable(group["params"] for group in optimizer.param_groups))
