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


def check_a_divide_factor(rank: int, ranks: int) -> None:
    """A sum over ranks, or whatever it is, is no mean; and modules may have different ones."""
    for factors in ((1.0, 1.0, 1.0), (3.0, 1.0, float(ranks))):
        model = sharded()
        for module, factor in zip((model, model[0], model[2]), factors, strict=True):
            module.set_gradient_divide_factor(factor)
        step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), clip=0.1)
        for mine in batches(ranks):
            with step:
                for batch in step.micro_batches(mine[rank], weight=len):
                    step.backward(loss_of(model, batch))
        close(weights(model), alone(ranks))


def check_bare_deposits_keep_the_divide_factor(rank: int, ranks: int) -> None:
    """As in a loop by hand: whoever sums over ranks has divided the loss."""
    model, plain = sharded(), net()
    for module in (model, model[0], model[2]):
        module.set_gradient_divide_factor(1.0)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    one = torch.optim.SGD(plain.parameters(), lr=0.1)
    for _ in range(2):
        with step:
            step.backward(loss_of(model, torch.ones(2, 4).double() * (rank + 1)))
        one.zero_grad()
        sum(loss_of(plain, torch.ones(2, 4).double() * (r + 1)) for r in range(ranks)).backward()
        one.step()
    close(weights(model), whole(plain))


def check_the_unit_is_the_blocks_own(rank: int, ranks: int) -> None:
    """A heavier micro-batch comes on another rank: also what was not scattered yet is brought to its unit."""
    data = [torch.full((n, 4), 0.1 * n) for n in ((3, 40), (700, 2), (5, 5), (1, 9))[rank]]
    for sync in ("each", "overlap"):
        got = []
        model = sharded(net().float())
        step = Step(
            torch.optim.SGD(model.parameters(), lr=0.0),
            sync=sync,
            inspect=lambda named, got=got: got.append(
                torch.cat([one.full_tensor().flatten() for one in named.values()])
            ),
        )
        for before in (1, 2**20):
            with step:
                for batch in step.micro_batches(data, weight=len):
                    step.backward(loss_of(model, batch))
            with step:
                step.backward(loss_of(model, data[0]), weight=before + rank)
        assert torch.equal(got[0], got[2])


def mixed(*, apart: float = 0.0) -> nn.Module:
    """The last bias is left to itself."""
    model = net()
    model[2].bias.data += apart
    return fully_shard(model, ignored_params={model[2].bias})


def whole(model: nn.Module) -> torch.Tensor:
    parts = [parameter.detach() for parameter in model.parameters()]
    return torch.cat([(part.full_tensor() if hasattr(part, "full_tensor") else part).flatten() for part in parts])


def check_plain_and_sharded_parameters(rank: int, ranks: int) -> None:
    for clip in (0.1, {"value": 0.01}, {"norm": 0.1, "per": "group"}):
        model, plain = mixed(), net()
        alike = Step(torch.optim.AdamW(plain.parameters(), lr=0.05), clip=clip)
        step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), clip=clip)
        for data in batches(ranks):
            with alike:
                alike.backward(loss_of(plain, torch.cat([batch for r in data for batch in r])))
            with step:
                for batch in step.micro_batches(data[rank], weight=len):
                    step.backward(loss_of(model, batch))
        close(whole(model), whole(plain))
        same_everywhere(whole(model))


def check_plain_parameters_that_are_not_finite(rank: int, ranks: int) -> None:
    """On one rank, and in the plain one alone: all of them skip."""
    model = mixed()
    bad = [rank == 1]
    model[2].bias.register_hook(lambda gradient: gradient * (math.nan if bad[0] else 1.0))
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    before = whole(model)
    with step:
        step.backward(loss_of(model, torch.ones(2, 4).double()))
    assert step.outcome.kind.value == "skipped"
    assert torch.equal(before, whole(model))
    bad[0] = False
    with step:
        step.backward(loss_of(model, torch.ones(2, 4).double()))
    assert step.outcome.moved
    same_everywhere(whole(model))


def check_plain_parameters_of_each_rank_alone(rank: int, ranks: int) -> None:
    """Those that differ are no replicas: each rank keeps its own, and its part of the gradient of the mean."""
    model, plain = mixed(apart=rank), [net() for _ in range(ranks)]
    for r, one in enumerate(plain):
        one[2].bias.data += r
    step = Step(torch.optim.SGD(model.parameters(), lr=0.0), inspect=lambda named: seen.append(named))
    data, seen = batches(ranks)[1], []
    with step:
        for batch in step.micro_batches(data[rank], weight=len):
            step.backward(loss_of(model, batch))
    items = sum(len(batch) for r in data for batch in r)
    sum(loss_of(plain[rank], batch) * len(batch) for batch in data[rank]).div(items).backward()
    close(next(reversed(seen[0].values())), plain[rank][2].bias.grad)
    clipped = Step(torch.optim.SGD(model.parameters(), lr=0.1), clip=1.0)
    before = whole(model)
    try:
        with clipped:
            clipped.backward(loss_of(model, data[0][0]))
    except StepError as error:
        assert "not the same on all ranks" in str(error)
        assert clipped.outcome.kind.value == "rolled_back"
    else:
        raise AssertionError
    assert torch.equal(before, whole(model))


def check_partly_tensor_parallel(rank: int, ranks: int) -> None:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,))

    def make() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()

    model, plain = make(), make()
    parallelize_module(model, mesh, {"2": ColwiseParallel(), "4": RowwiseParallel()})
    step = Step(torch.optim.AdamW(model.parameters(), lr=0.05, foreach=False), clip=0.1)
    one = Step(torch.optim.AdamW(plain.parameters(), lr=0.05), clip=0.1)
    for data in batches(1):
        for each, net_ in ((step, model), (one, plain)):
            with each:
                for batch in each.micro_batches(data[0], weight=len):
                    each.backward(loss_of(net_, batch))
    close(whole(model), whole(plain))


def check_ranks_with_unequal_backwards_are_told(rank: int, ranks: int) -> None:
    model = sharded()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    try:
        with step:
            loss = loss_of(model, torch.ones(2, 4).double())
            if rank == 0:
                step.backward(loss)
    except StepError as error:
        assert "ranks" in str(error), error
    else:
        raise AssertionError


def check_a_failure_between_forward_and_backward(rank: int, ranks: int) -> None:
    """In the loss, where memory runs out most: all ranks vote before a backward that synchronises."""
    model = sharded()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    for number in range(3):
        before = weights(model)
        try:
            with step:
                predicted = model(torch.ones(2, 4).double())
                if rank == 1 and number == 1:
                    raise torch.OutOfMemoryError("in the loss")
                step.backward(predicted.square().mean())
        except torch.OutOfMemoryError:
            assert (rank, number) == (1, 1)
        except PeerFailed as error:
            assert "rank 1 failed: OutOfMemoryError('in the loss')" in str(error)
        assert torch.equal(before, weights(model)) == (number == 1)
    same_everywhere(weights(model))
