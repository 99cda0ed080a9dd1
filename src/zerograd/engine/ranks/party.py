"""The ranks that take a step together: found by the wrappers that hold the Step's parameters.

Nobody has to say it: a Step over the parameters of a DistributedDataParallel that it did not know of would divide by
this rank's weights alone, and the replicas would drift apart. So the wrappers are looked for, among all objects.

[Note: looking again] To look among all objects takes milliseconds. So a Step looks when its first block is entered, and
again when the answer may be another one: a process group was made or destroyed, a module was wrapped, a wrapper is
gone, or the parameters are others. Each of these is known without looking, and asked at every block.
"""

import gc
import weakref
import zlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from zerograd.engine.ranks import refusals
from zerograd.engine.ranks.reducing import Reduction
from zerograd.engine.ranks.voting import Voters
from zerograd.engine.slots import Slots
from zerograd.engine.weighing import Number

T = TypeVar("T")
_available = dist.is_available()  # how torch was built
_voters: "weakref.WeakKeyDictionary[dist.ProcessGroup, Voters]" = weakref.WeakKeyDictionary()


class Wrapper(Protocol):
    """What holds parameters for several ranks, and would exchange gradients on its own."""

    def hold(self, *, each: bool) -> None: ...
    def release(self) -> None: ...
    def arm(self, loss: Tensor) -> None: ...
    def disarm(self) -> bool: ...
    def covers(self) -> bool: ...
    def must_reduce(self) -> bool: ...
    def is_known(self) -> bool: ...
    def meet(self) -> None: ...
    def forget(self) -> None: ...
    def rescale(self, factor: Number) -> None: ...
    def reduction(self) -> Reduction | None: ...
    def divisor(self, ranks: int) -> float: ...
    def finish(self, *, mean: bool) -> None: ...
    @property
    def lives(self) -> bool: ...


class Party:
    """`foreseen`: the blocks before had one deposit per micro-batch, and it filled every slot: the last can be told."""

    foreseen = False
    stopping = False  # some rank was asked to stop, and all know it
    asked = False  # this one was
    kept: object = None  # a micro-batch for a rank that has none, where every forward gathers
    beside: Sequence[Tensor] = ()  # plain parameters beside sharded ones, which nobody else averages,
    apart: Sequence[Tensor] = ()  # and those of each rank alone, which nobody shall

    def __init__(self, group: dist.ProcessGroup, wrapper: "Wrapper | None", mode: str, *, gathers: bool) -> None:
        self.group, self.wrapper, self.mode, self.gathers = group, wrapper, mode, gathers
        if group not in _voters:
            _voters[group] = Voters(dist.get_process_group_ranks(group), timeout_of(group))
        self.voters = _voters[group]
        self.size, self.rank = self.voters.size, self.voters.rank

    @property
    def divisor(self) -> float:
        """A reduced gradient is the sum over the ranks divided by this."""
        return self.size if self.wrapper is None else self.wrapper.divisor(self.size)

    def finish(self, *, mean: bool) -> None:
        """Bring all gradients to that divisor, if a `mean` by weight is to be made of them; also those of no sum.

        Else each has what a loop by hand would give it.
        """
        if self.wrapper is not None:
            self.wrapper.finish(mean=mean)
        for slot in self.apart:
            if mean and slot.grad is not None:
                slot.grad.div_(self.divisor)


class Search:
    """The party of one Step. See [Note: looking again]."""

    def __init__(self, sync: str | None) -> None:
        self._sync = sync
        self.found: Party | None = None
        self._world: object = None
        self._slots: Slots | None = None
        self._wrapped = 0

    def look(self, slots: Slots) -> Party | None:
        """Who takes the next step together; None if this process steps alone."""
        world = dist.group.WORLD if _available else None
        if (
            world is not self._world
            or slots is not self._slots
            or self._wrapped != _watch.wrapped
            or (self.found is not None and self._is_gone(self.found))
        ):
            _watch.begin()
            self._wrapped = _watch.wrapped
            before, self.found = self.found, find(slots, self._sync)
            if before is not None and self.found is not None:
                self.found.asked, self.found.stopping = before.asked, before.stopping
            self._world, self._slots = world, slots
        return self.found

    def _is_gone(self, party: Party) -> bool:
        return party.wrapper is not None and not party.wrapper.lives


class _Watch:
    """How many modules were wrapped in DistributedDataParallel since somebody wants to know."""

    wrapped = 0
    _begun = False

    def begin(self) -> None:
        """Once there are ranks: before, nothing can be wrapped."""
        if not self._begun and dist.is_available() and dist.is_initialized():
            self._begun = True
            nn.modules.module.register_module_module_registration_hook(self._notice)

    def _notice(self, module: nn.Module, name: str, submodule: nn.Module | None) -> None:
        if isinstance(module, nn.parallel.DistributedDataParallel):
            self.wrapped += 1


_watch = _Watch()


def find(slots: Slots, sync: str | None) -> Party | None:
    """The ranks of these slots; None if this process steps alone."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return None
    if any(hasattr(slot, "device_mesh") for slot in slots.parameters):
        return _sharded(slots, sync)
    from zerograd.engine.ranks.ddp import Wrapped, reduced_by  # a process that trains alone has no use for it

    wrapped = _living(nn.parallel.DistributedDataParallel)
    ours = [ddp for ddp in wrapped if reduced_by(ddp) & slots.ids]
    if sum(len(reduced_by(ddp)) for ddp in ours) > len({one for ddp in ours for one in reduced_by(ddp)}):
        del ours, wrapped
        gc.collect()  # wrapped a second time: the first wrapper may only not have been cleared away yet
        wrapped = _living(nn.parallel.DistributedDataParallel)
        ours = [ddp for ddp in wrapped if reduced_by(ddp) & slots.ids]
    if not ours:
        return None if sync is None else Party(_everybody(), None, "commit", gathers=False)
    if len({id(ddp.process_group) for ddp in ours}) > 1:
        raise refusals.two_parties()
    wrapper = Wrapped(ours, [ddp for ddp in wrapped if ddp not in ours], slots.ids)
    whole = all(reduced_by(ddp) <= slots.ids for ddp in ours)
    # A reduction of DDP's waits for all of its parameters: where this Step has only some, it reduces them itself.
    return Party(ours[0].process_group, wrapper, (sync or "overlap") if whole else "commit", gathers=False)


def _sharded(slots: Slots, sync: str | None) -> Party:
    from torch.distributed.fsdp import FSDPModule  # it takes as long to import as torch

    from zerograd.engine.ranks.fsdp2 import Sharded

    if sync == "commit":
        raise refusals.sync_commit("fully_shard scatters gradients in backward")
    ours = [module for module in _living(FSDPModule) if _holds(module, slots)]
    party = Party(_group_of(slots), Sharded(ours), sync or "each", gathers=True)
    plain = [slot for slot in slots.parameters if not hasattr(slot, "device_mesh")]
    if plain:
        same = party.voters.agree([_fingerprint(slot) for slot in plain])
        party.beside = [slot for slot, alike in zip(plain, same, strict=True) if alike]
        party.apart = [slot for slot, alike in zip(plain, same, strict=True) if not alike]
    return party


def _fingerprint(parameter: Tensor) -> int:
    """Of its bytes: replicas are the same to the last bit, or they have drifted apart already."""
    values = parameter.detach().cpu().contiguous()
    return zlib.crc32(values.flatten().view(torch.uint8).numpy().tobytes())


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
    """The ranks over which the parameters are sharded and replicated: all of their mesh, of the largest if several."""
    meshes = [slot.device_mesh for slot in slots.parameters if hasattr(slot, "device_mesh")]
    mesh = max(meshes, key=lambda mesh: mesh.size())
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
