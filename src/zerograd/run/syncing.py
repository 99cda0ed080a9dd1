"""DistributedDataParallel: which backward averaged gradients over the ranks (ZG501, ZG502).

Whether it did is counted: a process group numbers its collectives. A backward that fills parameters of a wrapped module
and starts none has averaged nothing: under `no_sync()`; past the wrapper, whose own forward alone tells its reducer to
expect gradients; or the second time through one forward, which the reducer has done with. Where nobody counts, or a
communication hook goes its own ways, the last forward is asked what it meant to do.

A group of one process has nothing to average, and nothing to save; but a step that would make ranks differ is told
there too, because that is where programs are tried.

A step on gradients that were not averaged is no fault where the weights are averaged instead, every so many steps
(local SGD, DiLoCo). Whoever does that leaves all backwards of a step unsynchronised, and has a line that exchanges
something between the ranks. A step that mixes both kinds of gradients, or a program that has no such line, does not.
"""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from weakref import ref

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from zerograd.core.events import Event, Site
from zerograd.rules.telling import note
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.readers import nobody_averages
from zerograd.run.sites import user_frame
from zerograd.run.values import dense
from zerograd.trace.ranks import CONSUMED

_HABIT = 2
_PAST = "{step} uses gradients not averaged over the ranks: model() bypasses the DDP wrapper"
_INSTEAD = "compute the loss through the DistributedDataParallel wrapper, not through model.module"


def collectives(group: Any) -> int | None:
    """How many a group has started so far. None: nobody counts them."""
    try:
        return int(group._get_sequence_number_for_group())
    except Exception:  # a backend without numbers, or a group that is gone
        return None


class _Replica:
    """A module that was wrapped."""

    def __init__(self, module: DistributedDataParallel) -> None:
        self.module = ref(module)
        # Those that it averages: some of the module's may be left out.
        averaged = getattr(module, "_module_parameters", None) or module.parameters()
        self.parameters = frozenset(id(one) for one in averaged if one.requires_grad)
        self.group: Any = getattr(module, "process_group", None)
        self.before = self.after = self.collectives()  # around the last backward
        self.forwards = 0  # since the last backward that filled its parameters

    @property
    def alone(self) -> bool:
        return self.group is not None and self.group.size() == 1

    def collectives(self) -> int | None:
        return collectives(self.group)

    def goes_its_own_ways(self) -> bool:
        return bool(getattr(self.module(), "_comm_hooks", ())) or self.before is None


class Syncing(Detector):
    codes = ("ZG501", "ZG502")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._will_sync: bool | None = None  # by the last forward
        self._replicas: list[_Replica] = []
        self._searched = False  # for modules that were wrapped before anyone looked
        self._wasteful = 0
        self._largest = 0  # elements of the largest parameter of a replica
        self.weights_meet = False  # the program itself has exchanged something as large as its weights

    def done_with(self, site: Site) -> bool:
        return not self._replicas or (bool(self._will_sync) and all(one.alone for one in self._replicas))

    # Wrappers

    def search(self) -> None:
        """The graph of a loss was walked: gradients are made, and there may be wrapped modules."""
        if not self._searched and torch.distributed.is_available() and torch.distributed.is_initialized():
            self._searched = True
            for one in gc.get_objects():
                if issubclass(type(one), DistributedDataParallel):  # not isinstance: it may run code of the object
                    self.wrapped(one)

    def wrapped(self, module: DistributedDataParallel) -> _Replica:
        """A module is wrapped."""
        self._replicas = [one for one in self._replicas if one.module() is not None]
        known = next((one for one in self._replicas if one.module() is module), None)
        if known is None:
            known = _Replica(module)
            self._replicas.append(known)
            self._largest = max((one.numel() for one in module.parameters()), default=self._largest)
        return known

    def forward(self, module: DistributedDataParallel) -> None:
        """A wrapped module begins its forward."""
        self._will_sync = bool(module.require_backward_grad_sync)
        self.wrapped(module).forwards += 1

    def wrapped_by_group(self) -> Iterator[tuple[int, Any, frozenset[int]]]:
        """The number of each wrapped module within its group, the group, and the ids of what it averages."""
        counted: Counter[int] = Counter()
        for one in self._replicas:
            if one.module() is not None and one.group is not None:
                yield counted[id(one.group)], one.group, one.parameters
                counted[id(one.group)] += 1

    # Backwards

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        deposit.synced = self._will_sync
        for replica in self._replicas:
            replica.before = replica.collectives()

    def deposited(self, deposit: Deposit, accounts: Sequence[Account]) -> None:
        for replica in self._replicas:
            replica.after = replica.collectives()
            if replica.module() is None or not _fills(deposit, replica, accounts):
                continue
            if not replica.goes_its_own_ways():
                deposit.synced = replica.after != replica.before
                deposit.past = not replica.forwards
            replica.forwards = 0

    # Steps

    def exchanged(self, values: Iterable[object]) -> None:
        """The program itself calls a collective, with these."""
        tensors = (one for value in values for one in (value if isinstance(value, list) else [value]))
        sizes = (one.numel() for one in tensors if isinstance(one, Tensor))
        self.weights_meet = self.weights_meet or 0 < self._largest <= max(sizes, default=0)

    def consumed(self, account: Account) -> tuple[tuple[str, float], ...]:
        """What every rank must have alike: the norm of what a step over a whole replica consumes (trace/ranks.py)."""
        if not self._replicas:
            return ()
        held = set(account.slots.ids)
        if not any(one.parameters and one.parameters <= held for one in self._replicas if not one.alone):
            return ()
        try:
            with torch.no_grad():
                norms = torch._foreach_norm([dense(one.grad) for one in account.parameters() if one.grad is not None])
                return ((CONSUMED, float(torch.linalg.vector_norm(torch.stack(norms)))),)
        except Exception:  # sparse, several devices, no gradients: there is no one norm
            return ()

    def consuming(self, account: Account, step: Event) -> None:
        synced = [deposit.synced for deposit in account.window.deposits]
        if not synced or None in synced:
            return
        last = account.window.deposits[-1]
        if not synced[-1] and not self.by_hand(account):
            if not self.weights_meet:
                past = last.past and not any(synced)  # nobody means to do that: who averages weights says no_sync()
                certain = past or any(synced) or nobody_averages(user_frame())
                self._drifts(step, last, past=past, certain=certain)
        elif len(synced) > 1 and all(synced) and account.window.size() == len(synced) and not self._alone(account):
            self._wasteful += 1
            if self._wasteful >= _HABIT:
                count = str(len(synced))
                self.say("ZG501", last.site, certain=True, deposit=last.event.what, size=count)

    def by_hand(self, account: Account) -> bool:
        """Whether somebody may have averaged what the next step consumes."""
        return account.window.all_reduced or account.window.edited or self._communicated(account)

    def _alone(self, account: Account) -> bool:
        return all(one.alone for one in self._of(account))

    def _of(self, account: Account) -> list[_Replica]:
        """The modules that hold parameters of this optimizer."""
        return [one for one in self._replicas if not one.parameters.isdisjoint(account.slots.known)]

    def _communicated(self, account: Account) -> bool:
        """Whether its group has started a collective since the last backward: somebody may average by hand."""
        return any(one.collectives() != one.after for one in self._of(account))

    def _drifts(self, step: Event, last: Deposit, *, past: bool, certain: bool) -> None:
        led = [(last.event, "does not average over the ranks")]
        site, rule = step.site or last.site, self.rules.get("ZG502")
        if not past or rule is None:
            self.say("ZG502", site, certain=certain, led=led, test=last.event.what)
            return
        told = note(rule, site, certain=certain, test=last.event.what)
        self.say_as(told._replace(message=_PAST.format(step=step.what), cure=_INSTEAD), led)


def _fills(deposit: Deposit, replica: _Replica, accounts: Sequence[Account]) -> bool:
    """Whether a backward that is over has reached parameters of this module."""
    filled = (one for one in accounts if one.window.deposits and one.window.deposits[-1] is deposit)
    return any(not replica.parameters.isdisjoint(one.slots.known) for one in filled)
