"""DistributedDataParallel, kept from reducing gradients except when the Step says so.

The module decides in its forward whether the next backward reduces; a Step can only know in between, when all ranks
have voted. So every forward runs as under `no_sync`, and the one backward that shall reduce is armed before it begins,
with what `forward` would have done (torch 2.13 nn/parallel/distributed.py:1828).
"""

import math
import weakref
from collections.abc import Iterable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import GradBucket
from torch.nn.parallel import DistributedDataParallel as DDP

from zerograd.engine.gradients import scale
from zerograd.engine.ranks import refusals
from zerograd.engine.weighing import Number

_MEASURED = 4096  # numbers by which it is seen what a communication hook gives


class Wrapped:
    """The wrappers of this Step's parameters, and those of others, which get no gradient here and must not wait.

    By weak references: a model that is taken out of its wrapper again is reduced no more.
    """

    def __init__(self, ours: Iterable[DDP], others: Iterable[DDP], slots: frozenset[int]) -> None:
        self._slots = slots
        self._refs, self._other_refs = list(map(weakref.ref, ours)), list(map(weakref.ref, others))
        self._before: list[tuple[DDP, bool, bool]] = []
        self._sums: dict[int, bool] = {}  # whether a wrapper's communication hook adds up instead of averaging

    @property
    def _ours(self) -> list[DDP]:
        return _living(self._refs)

    @property
    def lives(self) -> bool:
        return None not in [ref() for ref in self._refs]

    def hold(self, *, each: bool) -> None:
        """No backward reduces; or, if `each`, every one does."""
        others = _living(self._other_refs)
        known = (*self._ours, *others)
        self._before = [(ddp, ddp.require_backward_grad_sync, ddp.require_forward_param_sync) for ddp in known]
        for ddp in others:
            ddp.require_backward_grad_sync = False
        for ddp in self._ours:
            ddp.require_backward_grad_sync = each
            # A broadcast of buffers inside a forward would wait for ranks that have no micro-batch. See meet().
            ddp.require_forward_param_sync = False
            if ddp.find_unused_parameters and not ddp.static_graph:
                # It keeps a list of the parameters used since it last reduced: those of a block that is over, too.
                ddp.reducer._reset_state()

    def release(self) -> None:
        for ddp, grads, buffers in self._before:
            ddp.require_backward_grad_sync, ddp.require_forward_param_sync = grads, buffers
        self._before = []

    def arm(self, loss: Tensor) -> None:
        for ddp in self._ours:
            ddp.require_backward_grad_sync = True
            ddp.reducer.prepare_for_backward([loss] if ddp.find_unused_parameters and not ddp.static_graph else [])

    def disarm(self) -> bool:
        """Whether the backward has reduced. One that missed some parameter has not: DDP still waits for that one."""
        reduced = True
        for ddp in self._ours:
            ddp.require_backward_grad_sync = False
            try:
                ddp.reducer._check_reducer_finalized()
            except RuntimeError as unfinished:
                ddp.reducer._reset_state()
                if ddp.gradient_as_bucket_view:  # the slots themselves may be reduced in part
                    raise refusals.unfinished() from unfinished
                reduced = False
            else:  # now, while all ranks are here: the next forward would wait for those that have no other one
                ddp.reducer._rebuild_buckets()
                if self._sums.get(id(ddp)):
                    scale(self._gradients(ddp), 1.0 / ddp.process_group.size())
        return reduced

    def covers(self) -> bool:
        """Whether every parameter that a reduction would wait for has a gradient."""
        return all(
            ddp.find_unused_parameters or ddp.static_graph or parameter.grad is not None
            for ddp in self._ours
            for parameter in ddp._module_parameters
            if parameter.requires_grad
        )

    def must_reduce(self) -> bool:
        """A static graph is learnt in the first backward, which reduces whatever anybody says."""
        return any(ddp.static_graph and not ddp._static_graph_delay_allreduce_enqueued for ddp in self._ours)

    def meet(self) -> None:
        """What DDP does at the beginning of a forward and with all ranks, now, while all of them are here.

        After its first reduction it puts its buckets into the order of the backward: mostly that was done when it had
        reduced. And buffers are the first rank's.
        """
        for ddp in self._ours:
            ddp.reducer._rebuild_buckets()
            if ddp.broadcast_buffers and ddp.modules_buffers:
                ddp._sync_buffers()  # type: ignore[no-untyped-call]

    def forget(self) -> None:
        """Nothing is kept outside of the slots."""

    def rescale(self, factor: Number) -> None:
        """Nothing is kept outside of the slots."""

    def divisor(self, ranks: int) -> float:
        return ranks

    def is_known(self) -> bool:
        """What a communication hook gives is measured in its first reduction, which therefore is one at commit."""
        return all(id(ddp) in self._sums for ddp in self._ours if _hook_of(ddp))

    def finish(self, *, mean: bool) -> None:
        """Give back the sum that a hook has made. Until now it was kept a mean: see [Note: means of means]."""
        for ddp in self._ours:
            if not mean and self._sums.get(id(ddp)):
                scale(self._gradients(ddp), float(ddp.process_group.size()))

    def _gradients(self, ddp: DDP) -> list[Tensor]:
        ours = [slot for slot in ddp._module_parameters if id(slot) in self._slots]
        return [slot.grad for slot in ours if slot.grad is not None]

    def reduction(self) -> "Hooked | None":
        """At commit, in DDP's own way; None: any will do."""
        return Hooked(self._ours, self._slots, self._sums) if any(map(_hook_of, self._ours)) else None


class Hooked:
    """The gradients in buckets as DDP itself makes them, for its communication hook, which may be anybody's code.

    As DDP does for ranks that have run out of data (torch 2.13 nn/parallel/distributed.py:1964). A wrapper without a
    hook is averaged the same way. Hooks give the mean over the ranks, as all of torch's do, or their sum: which of the
    two is seen the first time, by a few numbers that are averaged beside.
    """

    def __init__(self, wrappers: Sequence[DDP], ours: frozenset[int], sums: dict[int, bool]) -> None:
        self._ours, self._sums = ours, sums
        self._buckets = [(ddp, ddp.reducer._get_zeros_like_grad_buckets()) for ddp in wrappers]
        for _, buckets in self._buckets:
            for bucket in buckets:
                for slot, room in self._rooms(bucket):
                    if slot.grad is not None:
                        if slot.grad.is_sparse:
                            raise refusals.sparse_across_ranks()
                        room.copy_(slot.grad)

    def average(self, group: dist.ProcessGroup, factor: float) -> None:
        held = self._held_anywhere(group)
        for ddp, buckets in self._buckets:
            share = factor if _hook_of(ddp) else factor / group.size()
            for bucket in buckets:
                if share != 1.0:
                    bucket.buffer().mul_(share)
            before = buckets[0].buffer()[:_MEASURED].clone()
            done = [ddp.reducer._run_comm_hook(bucket) for bucket in buckets]
            for bucket, future in zip(buckets, done, strict=True):
                bucket.set_buffer(_tensor(future.wait()))
                for slot, room in self._rooms(bucket):
                    if slot.grad is not None:
                        slot.grad.copy_(room)
                    elif id(slot) in held:
                        slot.grad = room.clone()
            if _hook_of(ddp) and id(ddp) not in self._sums:
                self._measure(ddp, before, buckets[0].buffer()[:_MEASURED], group)
            if self._sums.get(id(ddp)):
                scale([slot.grad for slot in self._slots_of(buckets) if slot.grad is not None], 1.0 / group.size())

    def _measure(self, ddp: DDP, mean: Tensor, given: Tensor, group: dist.ProcessGroup) -> None:
        """The same answer on all ranks, also where the hook gives each of them something else."""
        mean.div_(group.size())
        dist.all_reduce(mean, group=group)
        mean, given = mean.double(), given.double()
        ratio = (mean @ given / (mean @ mean)).float()  # nothing is learnt from zeros, nor from what is not finite
        dist.all_reduce(ratio, op=dist.ReduceOp.MIN, group=group)
        if math.isfinite(ratio):
            self._sums[id(ddp)] = abs(float(ratio) / group.size() - 1.0) < 0.05

    def _held_anywhere(self, group: dist.ProcessGroup) -> set[int]:
        """The slots that some rank has filled: what nobody has, stays empty."""
        slots = [slot for _, buckets in self._buckets for slot in self._slots_of(buckets)]
        held = torch.tensor([float(slot.grad is not None) for slot in slots], device=slots[0].device)
        dist.all_reduce(held, group=group)
        return {id(slot) for slot, ranks in zip(slots, held.tolist(), strict=True) if ranks}

    def _slots_of(self, buckets: Sequence[GradBucket]) -> list[Tensor]:
        return [slot for bucket in buckets for slot, _ in self._rooms(bucket)]

    def _rooms(self, bucket: GradBucket) -> list[tuple[Tensor, Tensor]]:
        """Our slots in the bucket, each with its place. Those of others stay zero, as if they had no gradient."""
        pairs = zip(bucket.parameters(), bucket.gradients(), strict=True)
        return [(slot, room) for slot, room in pairs if id(slot) in self._ours]


def _tensor(value: object) -> Tensor:
    """What a hook's future holds: a tensor, or a list of one."""
    found = value[0] if isinstance(value, list | tuple) else value
    assert isinstance(found, Tensor)
    return found


def _hook_of(ddp: DDP) -> object:
    """Its communication hook, if there is one. Of one that is built into DDP only the logger knows."""
    return ddp._comm_hooks or ddp._get_ddp_logging_data().get("comm_hook")  # type: ignore[no-untyped-call]


def _living(refs: "list[weakref.ref[DDP]]") -> list[DDP]:
    return [ddp for ref in refs if (ddp := ref()) is not None]


def reduced_by(ddp: DDP) -> set[int]:
    """The parameters that it reduces."""
    return {id(parameter) for parameter in ddp._module_parameters if parameter.requires_grad}
