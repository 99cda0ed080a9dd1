"""Parameters that ranks hold alike, and hold alike no more (ZG503).

What DistributedDataParallel wraps is the same on every rank of its group; so is a DTensor along each dimension of its
mesh in which it is replicated (HSDP, duplicates of tensor parallelism). Every so many steps each rank adds up the bits
of these parameters. No collective compares them: it would hang where ranks take another number of steps. The first rank
to come puts its sums down in the store by which the ranks have met, and the others look there. The name under which it
does has the number of collectives of the group in it, so sums of one moment are compared, or none.

The number of steps between two looks grows as long as all are alike. On a device the sums are read when they have come.
Of ranks that have stepped on gradients which nobody averaged ZG502 tells; who averages weights means them to differ.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import ne
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch import distributed as dist

from zerograd.core.events import Event, Site
from zerograd.core.findings import Related
from zerograd.rules.rule import Rule
from zerograd.rules.telling import NOWHERE, note
from zerograd.run.account import Account
from zerograd.run.detector import Detector
from zerograd.run.naming import named
from zerograd.run.posted import Post
from zerograd.run.syncing import Syncing, collectives

_FIRST, _MOST = 2, 1000  # steps before the first look, and the most between two
_WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # whole numbers of so many bytes


class Copies(NamedTuple):
    """Parameters that the ranks of `group` hold alike. `name`: what these ranks call them, and no others."""

    parameters: Sequence[Tensor]
    group: Any
    name: str


class _Past:
    """What is known of the replicas that one optimizer steps."""

    def __init__(self, *, copied: bool) -> None:
        self.copied = copied  # there are some
        self.due: float = _FIRST if copied else math.inf  # the number of steps at which to look
        self.agreed = 0  # the number of steps at which they were alike
        self.apart = False  # since then there was a step on gradients that were not averaged


class _Look(NamedTuple):
    copies: Copies
    steps: int
    moment: str
    past: _Past
    step: Event


class Replicas(Detector):
    codes = ("ZG503",)

    def __init__(self, rules: Mapping[str, Rule], report: Any, *, syncing: Syncing) -> None:
        super().__init__(rules, report)
        self._syncing = syncing
        self._pasts: WeakKeyDictionary[Account, _Past] = WeakKeyDictionary()
        self._waiting: list[tuple[_Look, str]] = []  # looks of which this rank was the first
        self._post = Post()
        self._store: Any = None
        self._over = not self.rules

    def done_with(self, site: Site) -> bool:
        return self._over or not any(past.copied for past in self._pasts.values())

    def gap(self) -> None:
        self._over = True  # nobody has counted what happened in between

    def ended(self, accounts: Sequence[Account]) -> None:
        self._post.collect(all_of_them=True)

    def consuming(self, account: Account, step: Event) -> None:
        """The only moment to look: what a rank makes of its copy when it trains no more is its own affair."""
        if self._over or not dist.is_available() or not dist.is_initialized() or dist.get_world_size() == 1:
            return
        past = self._pasts.get(account)
        if past is None:
            past = self._pasts[account] = _Past(copied=any(True for _ in self._copies(account)))
        unsynced = any(one.synced is False for one in account.window.deposits[-1:])
        past.apart = past.apart or (unsynced and not self._syncing.by_hand(account))
        self._post.collect()
        if account.steps >= past.due:
            past.due = account.steps + min(account.steps, _MOST)
            try:
                self._look(account, past, step)
            except Exception:  # a group or a store that is gone, parameters without numbers
                self._over = True

    def _look(self, account: Account, past: _Past, step: Event) -> None:
        self._store = self._store or _store()
        for look, key in self._waiting:
            if self._store.add(f"{key}/alike", 0) == dist.get_world_size(look.copies.group) - 1:
                _agree(look)
        self._waiting.clear()
        for copies in self._copies(account):
            moment = f"zerograd/{copies.name}/{account.steps}/{collectives(copies.group)}"
            look = _Look(copies, account.steps, moment, past, step)
            with torch.no_grad():
                sums = list(map(_sum_of_bits, copies.parameters))
            if sums[0].device.type == "cpu":
                self._compare(look, [int(one) for one in sums])
            else:
                self._post.send(sums, lambda numbers, look=look: self._arrived(look, numbers))  # type: ignore[misc]

    def _arrived(self, look: _Look, numbers: Iterable[float]) -> None:
        try:
            self._compare(look, [int(one) for one in numbers])
        except Exception:
            self._over = True

    def _compare(self, look: _Look, sums: list[int]) -> None:
        text, rank = json.dumps(sums), dist.get_rank()
        mine = f"{rank} {hashlib.sha256(text.encode()).hexdigest()}"
        first = self._store.compare_set(look.moment, "", mine).decode()
        if first == mine:
            self._store.set(f"{look.moment}/sums", text)
            self._waiting.append((look, look.moment))
        elif first.split()[1] == mine.split()[1]:
            self._store.add(f"{look.moment}/alike", 1)
            _agree(look)
        else:
            theirs = json.loads(self._store.get(f"{look.moment}/sums"))
            low, high = sorted((rank, int(first.split()[0])))
            self._differ(look, compress(look.copies.parameters, map(ne, sums, theirs)), f"{low} and {high}")

    def _differ(self, look: _Look, parameters: Iterable[Tensor], ranks: str) -> None:
        past, step = look.past, look.step
        if past.apart or math.isinf(past.due):
            return
        past.due = math.inf  # it is said
        site, certain = step.site or NOWHERE, not self._syncing.weights_meet
        told = note(self.rules["ZG503"], site, certain=certain, step=step.what, ranks=ranks)
        since = f"the same before step {past.agreed + 1}" if past.agreed else "not the same at any check"
        said = f"at step {look.steps + 1} these differ: {named(list(parameters))}; {since}"
        self.say_as(told._replace(related=(Related(site, said),)), ())

    def _copies(self, account: Account) -> Iterator[Copies]:
        parameters = account.slots.parameters()
        for number, group, ids in self._syncing.wrapped_by_group():
            held = [one for one in parameters if id(one) in ids]
            if held and dist.get_world_size(group) > 1:
                yield Copies(held, group, f"{_ranks(group)}/{number}/{len(held)}")
        if not account.plain:
            yield from _replicated(parameters)


def _replicated(parameters: Iterable[Tensor]) -> Iterator[Copies]:
    """DTensors, by the mesh and the dimension of it in which they are copies."""
    from torch.distributed.tensor import DTensor

    found: dict[tuple[Any, int], list[Tensor]] = {}
    for one in parameters:
        for dimension, placement in enumerate(one.placements if isinstance(one, DTensor) else ()):
            if placement.is_replicate() and one.device_mesh.size(dimension) > 1:  # type: ignore[attr-defined]
                found.setdefault((one.device_mesh, dimension), []).append(one)  # type: ignore[attr-defined]
    for (mesh, dimension), held in found.items():
        group = mesh.get_group(dimension)
        yield Copies(held, group, f"{_ranks(group)}/mesh {dimension}/{len(held)}")


def _ranks(group: Any) -> str:
    return ",".join(map(str, dist.get_process_group_ranks(group)))


def _store() -> Any:
    store = dist.distributed_c10d._get_default_store()
    return store.clone() if hasattr(store, "clone") else store  # of our own: another thread may be waiting in theirs


def _agree(look: _Look) -> None:
    if look.steps > look.past.agreed:
        look.past.agreed, look.past.apart = look.steps, False


def _sum_of_bits(parameter: Tensor) -> Tensor:
    local: Tensor = getattr(parameter, "_local_tensor", parameter).detach()
    real = torch.view_as_real(local) if local.is_complex() else local
    return real.view(_WHOLE[real.element_size()]).sum(dtype=torch.int64)
