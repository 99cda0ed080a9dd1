"""fully_shard under a Step, against one process with the same global batch."""

import math
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from engine.ranks.ddp_checks import alone, batches, close, loss_of, net, same_everywhere
from zerograd import PeerFailed, Step, StepError

warnings.simplefilter("ignore")


def sharded(model: nn.Module | None = None) -> nn.Module:
    model = net() if model is None else model
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    return fully_shard(model)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().full_tensor().flatten() for parameter in model.parameters()])


def together(rank: int, ranks: int, *, sync=None, clip=0.1, turns: int = 1) -> torch.Tensor:
    model = sharded()
    step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), sync=sync, clip=clip)
    for mine in batches(ranks) * turns:
        with step:
            for batch in step.micro_batches(mine[rank], weight=len):
                step.backward(loss_of(model, batch))
    assert step.committed == len(batches(ranks)) * turns
    return weights(model)


def check_each(rank: int, ranks: int) -> None:
    got = together(rank, ranks)
    close(got, alone(ranks))
    same_everywhere(got)


def check_overlap(rank: int, ranks: int) -> None:
    close(together(rank, ranks, sync="overlap"), alone(ranks))


def check_without_a_clip(rank: int, ranks: int) -> None:
    close(together(rank, ranks, clip=None), alone(ranks, clip=None))


def check_the_true_norm(rank: int, ranks: int) -> None:
    model, plain = sharded(), net()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), clip=math.inf)
    x = torch.ones(3, 4).double() * (rank + 1)
    with step:
        step.backward(loss_of(model, x))
    sum(loss_of(plain, torch.ones(3, 4).double() * (r + 1)) for r in range(ranks)).div(ranks).backward()
    want = nn.utils.get_total_norm([parameter.grad for parameter in plain.parameters()])
    assert abs(step.outcome.norm - float(want)) < 1e-12


def check_every_clip(rank: int, ranks: int) -> None:
    for clip in ({"value": 0.01}, {"norm": 0.1, "per": "group"}):
        model, plain = sharded(), net()
        one = torch.optim.SGD(plain.parameters(), lr=0.1)
        alike = Step(one, clip=clip)
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), clip=clip)
        for data in batches(ranks):
            with alike:
                alike.backward(loss_of(plain, torch.cat([batch for r in data for batch in r])))
            with step:
                for batch in step.micro_batches(data[rank], weight=len):
                    step.backward(loss_of(model, batch))
        close(weights(model), torch.cat([parameter.detach().flatten() for parameter in plain.parameters()]))


def check_nan_on_one_rank_skips_all(rank: int, ranks: int) -> None:
    for sync in ("each", "overlap"):
        model = sharded()
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for number in range(3):
            with step:
                for batch in step.micro_batches([torch.ones(2, 4).double()] * 2):
                    step.backward(loss_of(model, batch) * (math.nan if rank == 1 and number == 1 else 1.0))
        assert (step.committed, step.skipped) == (2, 1)
        same_everywhere(weights(model))


def check_a_failure_between_micro_batches_is_everybodys(rank: int, ranks: int) -> None:
    """Also in the middle of an accumulation that was not scattered yet: nothing of it remains."""
    for sync in ("each", "overlap"):
        model = sharded()
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)

        def block(fails: bool, step=step, model=model) -> None:
            with step:
                for number, batch in enumerate(step.micro_batches([torch.ones(2, 4).double()] * 3)):
                    step.backward(loss_of(model, batch))
                    if fails and rank == 1 and number == 0:
                        raise torch.OutOfMemoryError("injected")

        block(False)
        before = weights(model)
        try:
            block(True)
        except torch.OutOfMemoryError:
            assert rank == 1
        except PeerFailed as error:
            assert rank != 1
            assert "rank 1 failed: OutOfMemoryError" in str(error)
        else:
            raise AssertionError
        assert torch.equal(before, weights(model))
        block(False)
        fresh = sharded()
        twice = Step(torch.optim.SGD(fresh.parameters(), lr=0.1), sync=sync)
        for _ in range(2):
            with twice:
                for batch in twice.micro_batches([torch.ones(2, 4).double()] * 3):
                    twice.backward(loss_of(fresh, batch))
        assert torch.equal(weights(model), weights(fresh))


def check_what_cannot_be(rank: int, ranks: int) -> None:
    model = sharded()
    try:
        with Step(torch.optim.SGD(model.parameters(), lr=0.1), sync="commit"):
            pass
    except StepError as error:
        assert "fully_shard scatters" in str(error)
    else:
        raise AssertionError


def check_two_dimensions(rank: int, ranks: int) -> None:
    """Sharded and replicated."""
    if ranks < 4:
        return
    mesh = dist.device_mesh.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model = net()
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), clip=0.1)
    for mine in batches(ranks):
        with step:
            for batch in step.micro_batches(mine[rank], weight=len):
                step.backward(loss_of(model, batch))
    close(weights(model), alone(ranks))
