"""The ranks that take a step together: found by the wrappers that hold the Step's parameters.

Nobody has to say it: a Step over the parameters of a DistributedDataParallel that it did not know of would divide by
this rank's weights alone, and the replicas would drift apart. So the wrappers are looked for, once, among all objects.
"""

import gc
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol, TypeVar

import torch.distributed as dist
from torch import Tensor

from zerograd.engine.ranks import refusals
from zerograd.engine.ranks.voting import Voters
from zerograd.engine.slots import Slots

T = TypeVar("T")
_voters: "weakref.WeakKeyDictionary[dist.ProcessGroup, Voters]" = weakref.WeakKeyDictionary()


class Wrapper(Protocol):
    """What holds parameters for several ranks, and would exchange gradients on its own."""

    def hold(self, *, each: bool) -> None: ...
    def release(self) -> None: ...
    def arm(self, loss: Tensor) -> None: ...
    def disarm(self) -> None: ...
    def covers(self) -> bool: ...
    def must_reduce(self) -> bool: ...
    def meet(self) -> None: ...
    def forget(self) -> None: ...
    @property
    def hooked(self) -> bool: ...


class Party:
    """`foreseen`: the blocks before had one deposit per micro-batch, and it filled every slot: the last can be told."""

    foreseen = False
    stopping = False  # some rank was asked to stop, and all know it
    asked = False  # this one was
    kept: object = None  # a micro-batch for a rank that has none, where every forward gathers

    def __init__(self, group: dist.ProcessGroup, wrapper: "Wrapper | None", mode: str, *, gathers: bool) -> None:
        self.group, self.wrapper, self.mode, self.gathers = group, wrapper, mode, gathers
        if group not in _voters:
            _voters[group] = Voters(dist.get_process_group_ranks(group), timeout_of(group))
        self.voters = _voters[group]
        self.size, self.rank = self.voters.size, self.voters.rank


def find(slots: Slots, sync: str | None) -> Party | None:
    """The ranks of these slots; None if this process steps alone."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return None
    if any(hasattr(slot, "device_mesh") for slot in slots.parameters):
        return _sharded(slots, sync)
    from torch.nn.parallel import DistributedDataParallel

    from zerograd.engine.ranks.ddp import Wrapped, reduced_by  # a process that trains alone has no use for it

    wrapped = _living(DistributedDataParallel)
    ours = [ddp for ddp in wrapped if reduced_by(ddp) & slots.ids]
    if not ours:
        return None if sync is None else Party(_everybody(), None, "commit", gathers=False)
    if len({id(ddp.process_group) for ddp in ours}) > 1:
        raise refusals.two_parties()
    wrapper = Wrapped(ours, [ddp for ddp in wrapped if ddp not in ours])
    whole = all(reduced_by(ddp) <= slots.ids for ddp in ours)
    if wrapper.hooked and sync == "commit":
        raise refusals.sync_commit("a communication hook is registered, and only DDP's own reduction calls it")
    # A reduction of DDP's waits for all of its parameters: where this Step has only some, it reduces them itself.
    return Party(ours[0].process_group, wrapper, (sync or "overlap") if whole else "commit", gathers=False)


def _sharded(slots: Slots, sync: str | None) -> Party:
    from torch.distributed.fsdp import FSDPModule  # it takes as long to import as torch

    from zerograd.engine.ranks.fsdp2 import Sharded

    if sync == "commit":
        raise refusals.sync_commit("fully_shard scatters gradients in backward")
    ours = [module for module in _living(FSDPModule) if _holds(module, slots)]
    return Party(_group_of(slots), Sharded(ours), sync or "each", gathers=True)


def _living(kind: type[T]) -> list[T]:
    """Every object of that kind. By its exact class: isinstance() would ask properties of whatever lies around."""
    kinds, fresh = {kind}, [kind]
    while fresh:
        fresh = [below for one in fresh for below in one.__subclasses__() if below not in kinds]
        kinds.update(fresh)
    return [thing for thing in gc.get_objects() if type(thing) in kinds]


def _holds(module: object, slots: Slots) -> bool:
    return any(id(parameter) in slots.ids for parameter in module.parameters())  # type: ignore[attr-defined]


def _group_of(slots: Slots) -> dist.ProcessGroup:
    """The ranks over which the parameters are sharded and replicated: all of their mesh."""
    mesh = next(slot.device_mesh for slot in slots.parameters if hasattr(slot, "device_mesh"))
    if mesh.ndim == 1:
        group: dist.ProcessGroup = mesh.get_group()
        return group
    ranks: Sequence[int] = mesh.mesh.flatten().tolist()
    if len(ranks) == dist.get_world_size():
        return _everybody()
    part: dist.ProcessGroup = dist.new_group(ranks, use_local_synchronization=True)
    return part


def _everybody() -> dist.ProcessGroup:
    assert dist.group.WORLD is not None
    return dist.group.WORLD


def timeout_of(group: dist.ProcessGroup) -> timedelta:
    """How long its members wait for each other. torch has no public way to ask."""
    for device in group._device_types:
        options = getattr(group._get_backend(device), "options", None)
        if options is not None:
            return options._timeout  # type: ignore[no-any-return]
    return timedelta(minutes=30)
