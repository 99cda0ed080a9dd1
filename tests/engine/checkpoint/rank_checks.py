"""Checkpoints of two ranks: the weights of a run that was interrupted are those of one that was not."""

import os
import tempfile
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from engine.checkpoint.interrupted import run
from engine.ranks.ddp_checks import close, same_everywhere
from zerograd import CheckpointError, Checkpoints, Cursor, Step, groups

warnings.simplefilter("ignore")
DATA = TensorDataset(torch.randn(44, 4, generator=torch.Generator().manual_seed(3)).double())


def folder() -> str:
    said = [tempfile.mkdtemp() if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(said)
    return said[0]


def make(wrap: str, ranks: int, rank: int, path: str):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.2), nn.Linear(6, 1)).double()
    model = net
    if wrap == "ddp":
        model = DDP(net)
    if wrap == "fsdp2":
        fully_shard(net[0]), fully_shard(net)
    torch.manual_seed(100 + rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    step = Step(optimizer, clip=1.0, scheduler=schedule)
    sampler = DistributedSampler(DATA, num_replicas=ranks, rank=rank, seed=5)
    cursor = Cursor(DataLoader(DATA, batch_size=2, sampler=sampler))
    return model, step, cursor, Checkpoints(path, step, model=model, loader=cursor, every=2)


def train(wrap, ranks, rank, path, *, stop=None, inside=None):
    """The samples that were seen, and the weights at the end."""
    made = make(wrap, ranks, rank, path)
    seen, ended = run(*made, size=3, stop=stop, inside=inside)
    return seen, state(made[0]) if ended else None


def state(model: nn.Module) -> torch.Tensor:
    values = [value for value in model.state_dict().values() if value.is_floating_point()]
    return torch.cat([(v.full_tensor() if hasattr(v, "full_tensor") else v).flatten().double() for v in values])


def _interrupted(wrap: str, rank: int, ranks: int) -> None:
    whole, weights = train(wrap, ranks, rank, folder())
    for inside in ((3, 1), (3, 0), (5, 1)):  # the last group of an epoch, and another
        path = folder()
        first, _ = train(wrap, ranks, rank, path, stop=2)
        second, _ = train(wrap, ranks, rank, path, inside=inside)
        third, resumed = train(wrap, ranks, rank, path)
        assert first + second + third == whole, (first, second, third, whole)
        assert torch.equal(weights, resumed), (inside, (weights - resumed).abs().max())


def check_ddp(rank: int, ranks: int) -> None:
    _interrupted("ddp", rank, ranks)


def check_fsdp2(rank: int, ranks: int) -> None:
    _interrupted("fsdp2", rank, ranks)


def check_saved_by_many_resumed_by_one(rank: int, ranks: int) -> None:
    """With and without deposits in flight. Samples are neither repeated nor left out."""
    for wrap in ("ddp", "fsdp2"):
        for inside in (None, (2, 1)):
            path = folder()
            seen, _ = train(wrap, ranks, rank, path, **({"inside": inside} if inside else {"stop": 2}))
            told = [None] * ranks
            dist.all_gather_object(told, seen)
            if rank == 0:
                before = sorted(value for one in told for value in one)
                everything = sorted([*before, *_alone(path)])
                assert everything == sorted(DATA.tensors[0].sum(1).tolist()), len(everything)
            dist.barrier()


def _alone(path: str) -> list[float]:
    """One process, without a wrapper, to the end of the epoch; what it saw, sample by sample."""
    from zerograd.engine.ranks import party

    find, ranks = party.find, dist.get_world_size
    party.find, dist.get_world_size = (lambda *args: None), (lambda *args: 1)
    try:
        model, step, cursor, saved = make("", 1, 0, path)
        assert saved.resume()
        seen = []
        for group in groups(cursor, 3, begun=0):
            with step:
                for (batch,) in step.micro_batches(group, weight=len):
                    step.backward(model(batch).square().mean())
                    seen += batch.sum(1).tolist()
        assert step.outcome.moved
        saved.close()
        return seen
    finally:
        party.find, dist.get_world_size = find, ranks


def check_damage_on_one_rank_is_everybodys(rank: int, ranks: int) -> None:
    path = folder()
    train("ddp", ranks, rank, path, stop=4)
    dist.barrier()
    names = sorted(os.listdir(path))
    if rank == 0:
        victim = Path(path, names[-1], "__1_0.distcp")
        victim.write_bytes(victim.read_bytes()[:-7])
    dist.barrier()
    model, step, _, saved = make("ddp", ranks, rank, path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert saved.resume()
    assert any("is damaged: __1_0.distcp has" in str(one.message) for one in caught)
    assert step.committed == 2
    same_everywhere(state(model))
    try:
        saved.resume(names[-1])
    except CheckpointError as error:
        assert "damaged" in str(error)
    else:
        raise AssertionError
    saved.close()
    close(state(model), state(model))
