"""Checkpoints of two ranks: the weights of a run that was interrupted are those of one that was not."""

import errno
import os
import tempfile
import time
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
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


class Kept:
    """Something of the user's: its state is what it is given, and `fails` says when it raises."""

    def __init__(self, value: object, *, fails: str = "") -> None:
        self.value, self.fails = value, fails

    def state_dict(self):
        if self.fails == "saving":
            raise ValueError("mine")
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]
        if self.fails == "loading":
            raise ValueError("mine")


def small(rank: int, path: str, *, optimizer=torch.optim.Adam, also=None, seed: int = 0):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    model = DDP(net)
    step = Step(optimizer(net.parameters(), lr=0.05))
    return model, step, Checkpoints(path, step, model=model, also=also)


def steps(model, step, numbers, rank: int) -> None:
    for number in numbers:
        batch = torch.randn(3, 4, generator=torch.Generator().manual_seed(number + 50 * rank)).double()
        with step:
            step.backward(model(batch).square().mean())


def check_state_that_is_sharded_over_ranks(rank: int, ranks: int) -> None:
    """ZeroRedundancyOptimizer: each rank has the moments of its own parameters. Resumed by as many, and by one."""

    def sharded(parameters, lr):
        return ZeroRedundancyOptimizer(parameters, torch.optim.AdamW, lr=lr)

    path = folder()
    model, step, saved = small(rank, path, optimizer=sharded)
    steps(model, step, range(3), rank)
    saved.save()
    steps(model, step, range(3, 6), rank)
    want = state(model)
    saved.close()
    for twice in range(2):  # what was loaded is saved again
        model, step, saved = small(rank, path, optimizer=sharded, seed=9)
        assert saved.resume()
        if not twice:
            saved.save()
        saved.close()
        steps(model, step, range(3, 6), rank)
        assert torch.equal(want, state(model)), (want - state(model)).abs().max()
    model, step, saved = small(rank, path, optimizer=torch.optim.AdamW, seed=9)  # all of it, put together
    from zerograd.engine.checkpoint import checkpoints
    from zerograd.engine.checkpoint.together import Together

    usual, checkpoints.ranks_of = checkpoints.ranks_of, lambda parties, failed: Together(None, 0, 1, failed)
    try:
        assert saved.resume()
    finally:
        checkpoints.ranks_of = usual
    saved.close()
    steps(model, step, range(3, 6), rank)
    close(want, state(model))


def check_what_is_not_alike_is_each_ranks_own(rank: int, ranks: int) -> None:
    path = folder()
    mine = {"list": [rank, torch.full((2,), float(rank))], "same": torch.ones(3), f"only {rank}": 1}
    kept = Kept(mine)
    model, step, saved = small(rank, path, also={"kept": kept})
    steps(model, step, range(2), rank)
    for values in step.optimizers[0].state.values():
        values["exp_avg"] += rank  # an optimizer that is each rank's own
    want = [values["exp_avg"].clone() for values in step.optimizers[0].state.values()]
    saved.save()
    saved.close()
    fresh = Kept(None)
    model, step, saved = small(rank, path, also={"kept": fresh}, seed=9)
    assert saved.resume()
    saved.close()
    assert fresh.value["list"][0] == rank, fresh.value
    assert fresh.value[f"only {rank}"] == 1
    assert fresh.value["list"][1].tolist() == [rank, rank]
    got = [values["exp_avg"] for values in step.optimizers[0].state.values()]
    assert all(map(torch.equal, want, got))
    same_everywhere(state(model))


def check_a_save_that_fails_on_one_rank(rank: int, ranks: int) -> None:
    """At once on all ranks, with the cause; the run goes on, and the next save is whole."""
    path = folder()
    for one in range(ranks):
        for how in ("raises", "cannot be kept", "disk is full", "cannot begin"):
            kept = Kept(1, fails="saving" if how == "raises" and rank == one else "")
            if how == "cannot be kept" and rank == one:
                kept.value = object()
            model, step, saved = small(rank, path, also={"kept": kept})
            steps(model, step, range(2), rank)
            usual = os.fsync, os.mkdir
            if how == "disk is full" and rank == one:
                os.fsync = _full
            if how == "cannot begin" and rank == one == 0:
                os.mkdir = _full
            begun = time.monotonic()
            try:
                saved.save()
                assert (how, bool(one)) == ("cannot begin", True)  # only the first rank makes folders
            except CheckpointError as error:
                said = str(error)
                assert rank == one or f"rank {one}: " in said, said
                assert {"raises": "mine", "cannot be kept": "is a object"}.get(how, "No space left") in said, said
            finally:
                os.fsync, os.mkdir = usual
            assert time.monotonic() - begun < int(os.environ["TIMEOUT"])  # nobody has waited for the limit
            kept.fails, kept.value = "", 1
            steps(model, step, range(2, 4), rank)
            saved.save()
            assert saved.resume()
            assert step.committed == 4
            same_everywhere(state(model))
            saved.close()
            dist.barrier()
            assert all(name.isdigit() for name in os.listdir(path)), os.listdir(path)


def _full(*args: object, **kwargs: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def check_a_resume_that_fails_on_one_rank(rank: int, ranks: int) -> None:
    """Nothing was changed, on any rank."""
    path = folder()
    model, step, saved = small(rank, path, also={"kept": Kept("saved")})
    steps(model, step, range(3), rank)
    saved.save()
    saved.close()
    for one in range(ranks):
        kept = Kept("here", fails="loading" if rank == one else "")
        model, step, saved = small(rank, path, also={"kept": kept}, seed=9)
        steps(model, step, range(2), rank)
        before, moment = state(model), step.optimizers[0].state_dict()["state"][0]["exp_avg"].clone()
        try:
            saved.resume()
        except CheckpointError as error:
            assert "also['kept']: ValueError: mine" in str(error), error
        else:
            raise AssertionError
        assert torch.equal(before, state(model))
        assert torch.equal(moment, step.optimizers[0].state_dict()["state"][0]["exp_avg"])
        assert step.committed == 2
        assert kept.value == "here" or rank == one  # the one that raises cannot be asked to go back
        kept.fails = ""
        assert saved.resume()
        assert step.committed == 3
        same_everywhere(state(model))
        saved.close()
