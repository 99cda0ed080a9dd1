"""DistributedDataParallel under a Step, against one process with the same global batch."""

import gc
import math
import os
import sys
import time
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from zerograd import PeerFailed, Step, StepError, join

warnings.simplefilter("ignore")
# Items of each micro-batch of each rank, for three steps: unequal counts, unequal numbers, tails, and a rank with none.
SHAPES = [
    [[4, 4], [4, 4], [4, 4], [4, 4]],
    [[3, 5, 1], [7], [2, 2], [1, 1, 1]],
    [[6], [], [5, 2], []],
]


def net(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)).double()


def batches(ranks: int) -> list[list[list[torch.Tensor]]]:
    """By step, rank and micro-batch."""
    torch.manual_seed(1)
    return [[[torch.randn(n, 4).double() for n in counts] for counts in step[:ranks]] for step in SHAPES]


def loss_of(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    return model(batch).square().mean()


def alone(ranks: int, make=lambda net: torch.optim.AdamW(net.parameters(), lr=0.05), clip=0.1) -> torch.Tensor:
    """The weights of one process that sees the global batch."""
    model = net()
    optimizer = make(model)
    for step in batches(ranks):
        everything = torch.cat([batch for rank in step for batch in rank])
        optimizer.zero_grad()
        loss_of(model, everything).backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    return weights(model)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def together(rank: int, ranks: int, *, sync=None, clip=0.1, **options) -> torch.Tensor:
    model = DDP(net(), **options)
    step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), sync=sync, clip=clip)
    for mine in batches(ranks):
        with step:
            for batch in step.micro_batches(mine[rank], weight=len):
                step.backward(loss_of(model, batch))
    assert step.committed == len(SHAPES)
    return weights(model)


def close(one: torch.Tensor, other: torch.Tensor) -> None:
    assert (one - other).abs().max() < 1e-12, (one - other).abs().max()


def same_everywhere(value: torch.Tensor) -> None:
    """To the last bit."""
    of_all = [torch.empty_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(of_all, value)
    assert all(torch.equal(of_all[0], other) for other in of_all)


def check_overlap(rank: int, ranks: int) -> None:
    got = together(rank, ranks, sync="overlap")
    close(got, alone(ranks))
    same_everywhere(got)


def check_commit(rank: int, ranks: int) -> None:
    close(together(rank, ranks, sync="commit"), alone(ranks))


def check_each(rank: int, ranks: int) -> None:
    close(together(rank, ranks, sync="each"), alone(ranks))


def check_without_being_asked(rank: int, ranks: int) -> None:
    close(together(rank, ranks), alone(ranks))


def check_bucket_views(rank: int, ranks: int) -> None:
    for sync in ("overlap", "commit", "each"):
        close(together(rank, ranks, sync=sync, gradient_as_bucket_view=True), alone(ranks))


def check_static_graph(rank: int, ranks: int) -> None:
    for sync in ("overlap", "commit", "each"):
        close(together(rank, ranks, sync=sync, static_graph=True), alone(ranks))


def check_find_unused_parameters(rank: int, ranks: int) -> None:
    for sync in ("overlap", "commit", "each"):
        close(together(rank, ranks, sync=sync, find_unused_parameters=True), alone(ranks))


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.arms = nn.ModuleList([nn.Linear(4, 1).double() for _ in range(3)])

    def forward(self, batch: torch.Tensor, arm: int) -> torch.Tensor:
        return self.arms[arm](batch)


def check_slots_that_not_every_rank_fills(rank: int, ranks: int) -> None:
    """Each rank uses another arm; the third is used by nobody, and stays without a gradient."""
    for unused in (True, False):
        torch.manual_seed(0)
        plain, model = Branching(), None
        torch.manual_seed(0)
        model = DDP(Branching(), find_unused_parameters=unused)
        one = torch.optim.SGD(plain.parameters(), lr=0.1)
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1), sync=None)
        for _ in range(3):
            x = torch.ones(2, 4).double()
            one.zero_grad()
            sum(plain(x * (r + 1), r % 2).mean() for r in range(ranks)).div(ranks).backward()
            one.step()
            with step:
                step.backward(model(x * (rank + 1), rank % 2).mean())
        assert torch.equal(weights(model.module.arms[2]), weights(plain.arms[2])), "an arm without a gradient has moved"


def check_bare_deposits_are_averaged(rank: int, ranks: int) -> None:
    plain = net()
    one = torch.optim.SGD(plain.parameters(), lr=0.1)
    data = [
        [torch.randn(3, 4, generator=torch.Generator().manual_seed(9 * s + r)).double() for r in range(ranks)]
        for s in range(4)
    ]
    for step in data:
        one.zero_grad()
        sum(loss_of(plain, batch) for batch in step).div(ranks).backward()
        one.step()
    for sync in (None, "overlap", "commit", "each"):
        model = DDP(net())
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for batch in data:
            with step:
                step.backward(loss_of(model, batch[rank]))
        close(weights(model), weights(plain))


def check_several_losses(rank: int, ranks: int) -> None:
    """Two deposits per micro-batch, then one, then two: what was foreseen is wrong, and the result is not."""
    plain = net()
    one = torch.optim.SGD(plain.parameters(), lr=0.1)
    model = DDP(net())
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync="overlap")
    for number, data in enumerate(batches(ranks) * 2):
        everything = torch.cat([batch for r in data for batch in r])
        one.zero_grad()
        (loss_of(plain, everything) + (plain(everything).mean() if number % 3 == 0 else 0)).backward()
        one.step()
        with step:
            for batch in step.micro_batches(data[rank], weight=len):
                step.backward(loss_of(model, batch))
                if number % 3 == 0:
                    step.backward(model(batch).mean())
    close(weights(model), weights(plain))


def check_sum(rank: int, ranks: int) -> None:
    plain, model = net(), DDP(net())
    one = torch.optim.SGD(plain.parameters(), lr=0.1)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    for data in batches(ranks):
        one.zero_grad()
        sum(loss_of(plain, batch) for r in data for batch in r).div(ranks).backward()
        one.step()
        with step:
            for batch in step.micro_batches(data[rank], reduce="sum"):
                step.backward(loss_of(model, batch))
    close(weights(model), weights(plain))


def check_weightless_everywhere_and_somewhere(rank: int, ranks: int) -> None:
    model = DDP(net())
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    before = weights(model)
    with step:
        for batch in step.micro_batches([torch.ones(2, 4).double()], weight=lambda _: 0):
            step.backward(loss_of(model, batch))
    assert step.outcome.kind.value == "skipped"
    assert torch.equal(before, weights(model))
    with step:
        for batch in step.micro_batches([torch.ones(2, 4).double()], weight=lambda _: rank):
            step.backward(loss_of(model, batch))
    assert step.outcome.moved
    same_everywhere(weights(model))


def check_compiled(rank: int, ranks: int) -> None:
    model = DDP(net())
    compiled = torch.compile(model, backend="aot_eager")
    step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), clip=0.1)
    for mine in batches(ranks):
        with step:
            for batch in step.micro_batches(mine[rank], weight=len):
                step.backward(loss_of(compiled, batch))
    close(weights(model), alone(ranks))
    torch._dynamo.reset()


def check_part_of_a_model(rank: int, ranks: int) -> None:
    """Two Steps, each over a part of one DDP."""
    plain, model = net(), DDP(net())
    two = [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in (plain[0], plain[2])]
    steps = [Step(torch.optim.SGD(layer.parameters(), lr=0.1)) for layer in (model.module[0], model.module[2])]
    for data in batches(ranks):
        everything = torch.cat([batch for r in data for batch in r])
        for optimizer, step in zip(two, steps, strict=True):
            plain.zero_grad()
            loss_of(plain, everything).backward()
            optimizer.step()
            with step:
                for batch in step.micro_batches(data[rank], weight=len):
                    step.backward(loss_of(model, batch))
    close(weights(model), weights(plain))


def check_gan(rank: int, ranks: int) -> None:
    """Two DDPs: the generator's backward runs through the discriminator, which must not wait for it."""

    def make():
        return net(0), net(1)

    (g, d), (gp, dp) = make(), make()
    g_ddp, d_ddp = DDP(g), DDP(d)
    bridge = torch.ones(1, 4).double()
    step_d, step_g = (Step(torch.optim.SGD(m.parameters(), lr=0.1)) for m in (d_ddp, g_ddp))
    opt_d, opt_g = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (dp, gp))
    for data in batches(ranks)[:2]:
        everything = torch.cat([batch for r in data for batch in r])
        for optimizer, step in ((opt_d, step_d), (opt_g, step_g)):
            gp.zero_grad(), dp.zero_grad()
            dp(gp(everything) * bridge).square().mean().backward()
            optimizer.step()
            with step:
                for batch in step.micro_batches(data[rank], weight=len):
                    step.backward(d_ddp(g_ddp(batch) * bridge).square().mean())
    close(weights(g_ddp), weights(gp))
    close(weights(d_ddp), weights(dp))
    with join(step_d, step_g) as both:
        for batch in both.micro_batches(data[rank], weight=len):
            step_d.backward(loss_of(d_ddp, batch))
            step_g.backward(loss_of(g_ddp, batch))
    for model, optimizer in ((dp, opt_d), (gp, opt_g)):
        model.zero_grad()
        loss_of(model, everything).backward()
        optimizer.step()
    close(weights(g_ddp), weights(gp))
    close(weights(d_ddp), weights(dp))


def check_a_failure_in_a_join_is_everybodys(rank: int, ranks: int) -> None:
    models = [DDP(net(seed)) for seed in range(2)]
    steps = [Step(torch.optim.SGD(model.parameters(), lr=0.1)) for model in models]
    for step, model in zip(steps, models, strict=True):
        _fails(step, model, rank, None, "")  # from now on each of them foresees its last deposit
    before = [weights(model) for model in models]
    try:
        with join(*steps) as both:
            for batch in both.micro_batches([torch.ones(2, 4).double()] * 2):
                steps[0].backward(loss_of(models[0], batch))
                if rank == 1:
                    raise ValueError("between the two")
                steps[1].backward(loss_of(models[1], batch))
    except ValueError:
        assert rank == 1
    except PeerFailed as error:
        assert "between the two" in str(error)
    assert all(torch.equal(old, weights(model)) for old, model in zip(before, models, strict=True))
    with join(*steps):
        for step, model in zip(steps, models, strict=True):
            step.backward(loss_of(model, torch.ones(2, 4).double()))
    assert [step.committed for step in steps] == [2, 2]


def check_without_a_wrapper(rank: int, ranks: int) -> None:
    model = net()
    step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), sync="commit", clip=0.1)
    for mine in batches(ranks):
        with step:
            for batch in step.micro_batches(mine[rank], weight=len):
                step.backward(loss_of(model, batch))
    close(weights(model), alone(ranks))


def check_buffers_are_the_first_ranks(rank: int, ranks: int) -> None:
    model = DDP(nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 1)))
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    for number in range(3):
        with step:
            for batch in step.micro_batches([torch.randn(5, 4)] * (number if rank else 2)):
                step.backward(loss_of(model, batch))
        same_everywhere(model.module[0].running_mean)
    same_everywhere(weights(model))


def check_loss_scale(rank: int, ranks: int) -> None:
    model = DDP(net().float())
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=2)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), scaler=scaler, clip=1.0)
    for mine in batches(ranks) * 2:
        with step:
            for batch in step.micro_batches(mine[rank], weight=len):
                step.backward(loss_of(model, batch.float()) * (1e30 if rank else 1.0))
    same_everywhere(weights(model))
    assert step.skipped
    same_everywhere(torch.tensor([scaler.get_scale()]))


def _fails(step: Step, model: nn.Module, rank: int, error: BaseException | None, where: str) -> None:
    data = [torch.ones(2, 4).double() * (rank + 1)] * 3
    with step:
        for number, batch in enumerate(step.micro_batches(data, weight=len)):
            if error is not None and where == f"forward {number}":
                raise error
            step.backward(loss_of(model, batch))
        if error is not None and where == "after":
            raise error


def check_failures_are_everybodys(rank: int, ranks: int) -> None:
    for sync in ("overlap", "commit"):
        model = DDP(net())
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for _ in range(2):
            _fails(step, model, rank, None, "")
        for where in ("forward 0", "forward 1", "forward 2", "after"):
            before = weights(model)
            mine = torch.OutOfMemoryError("injected") if rank == 1 else None
            try:
                _fails(step, model, rank, mine, where)
            except torch.OutOfMemoryError:
                assert rank == 1
            except PeerFailed as error:
                assert rank != 1
                assert "rank 1 failed: OutOfMemoryError('injected')" in str(error), error
            else:
                raise AssertionError("nobody was told")
            assert step.outcome.kind.value == "rolled_back"
            assert torch.equal(before, weights(model))
            assert all(parameter.grad is None for parameter in model.parameters())
            _fails(step, model, rank, None, "")  # and all go on
            assert step.outcome.moved
        same_everywhere(weights(model))


def check_an_abort_is_everybodys(rank: int, ranks: int) -> None:
    for sync in ("overlap", "commit"):
        model = DDP(net())
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for number in range(3):
            with step:
                for batch in step.micro_batches([torch.ones(2, 4).double()] * 2):
                    step.backward(loss_of(model, batch))
                if number == 2 and rank == 0:
                    step.abort()
        assert step.outcome.kind.value == "aborted"
        assert step.committed == 2


def check_nan_on_one_rank_skips_all(rank: int, ranks: int) -> None:
    for sync in ("overlap", "commit", "each"):
        model = DDP(net())
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for number in range(4):
            with step:
                for batch in step.micro_batches([torch.ones(2, 4).double()] * 2):
                    step.backward(loss_of(model, batch) * (math.nan if rank == 1 and number == 2 else 1.0))
        assert (step.committed, step.skipped) == (3, 1)
        same_everywhere(weights(model))


def check_an_inspection_that_raises_on_one_rank(rank: int, ranks: int) -> None:
    model = DDP(net())
    failing = []

    def inspect(named) -> None:
        if failing and rank == 1:
            raise ValueError("looked wrong")

    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), inspect=inspect)
    _fails(step, model, rank, None, "")
    failing.append(1)
    before = weights(model)
    try:
        _fails(step, model, rank, None, "")
    except ValueError:
        assert rank == 1
    except PeerFailed as error:
        assert "looked wrong" in str(error)
    assert torch.equal(before, weights(model))
    failing.clear()
    _fails(step, model, rank, None, "")
    same_everywhere(weights(model))


def check_a_torn_rank_lets_nobody_wait(rank: int, ranks: int) -> None:
    model = DDP(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = Step(optimizer, restore="weights")
    _fails(step, model, rank, None, "")
    if rank == 1:
        optimizer.register_step_pre_hook(_raise)
    ended = []
    begun = time.monotonic()
    for _ in range(3):
        try:
            _fails(step, model, rank, None, "")
            ended.append("committed")
        except StepError as error:
            ended.append(type(error).__name__)
    assert ended == (["TornStep", "StepError", "StepError"] if rank == 1 else ["committed", "PeerFailed", "PeerFailed"])
    assert time.monotonic() - begun < int(os.environ["TIMEOUT"])


def _raise(*_: object) -> None:
    raise OSError


def check_what_a_function_leaves_on_one_rank_skips_all(rank: int, ranks: int) -> None:
    def spoil(named) -> None:
        if rank == 1:
            next(iter(named.values())).fill_(float("nan"))

    for options in ({"inspect": spoil}, {"clip": spoil}, {"clip": spoil, "sync": "commit"}):
        model = DDP(net())
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), **options)
        before = weights(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _fails(step, model, rank, None, "")
        assert step.outcome.kind.value == "skipped"
        assert torch.equal(before, weights(model))


def check_ranks_that_weigh_and_ranks_that_do_not(rank: int, ranks: int) -> None:
    model = DDP(net())
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    try:
        with step:
            step.backward(loss_of(model, torch.ones(2, 4).double()), weight=2 if rank else None)
    except StepError as error:
        assert "some ranks deposited" in str(error), error
    else:
        raise AssertionError


def check_a_hook_is_kept(rank: int, ranks: int) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    called = []

    def hook(state, bucket):
        called.append(bucket)
        return allreduce_hook(None, bucket)

    model = DDP(net())
    model.register_comm_hook(None, hook)
    step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), clip=0.1)
    for mine in [*batches(ranks)]:
        with step:
            for batch in step.micro_batches(mine[rank], weight=len):
                step.backward(loss_of(model, batch))
    close(weights(model), alone(ranks))
    assert len(called) == len(SHAPES)  # the first block, and the one in which a rank has nothing, among them


def check_a_hook_is_called_whenever_ranks_reduce(rank: int, ranks: int) -> None:
    """At commit, with two backwards per micro-batch, in a join, over a part of the model: never around it."""
    for sync, both in (("commit", True), ("overlap", True), ("overlap", False), ("each", True)):
        called: list[int] = []

        def hook(called, bucket):
            called.append(bucket.index())
            return dist.all_reduce(bucket.buffer().div_(ranks), async_op=True).get_future().then(lambda f: f.value()[0])

        plain, model = net(), DDP(net())
        model.register_comm_hook(called, hook)
        one = torch.optim.SGD(plain.parameters(), lr=0.1)
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for number, data in enumerate(batches(ranks)):
            everything = torch.cat([batch for r in data for batch in r])
            one.zero_grad()
            (loss_of(plain, everything) + both * plain(everything).mean()).backward()
            one.step()
            with step:
                for batch in step.micro_batches(data[rank], weight=len):
                    step.backward(loss_of(model, batch))
                    if both:
                        step.backward(model(batch).mean())
            assert len(called) > number
        close(weights(model), weights(plain))


def check_a_hook_and_a_part_of_the_model(rank: int, ranks: int) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

    plain, model = net(), DDP(net())
    model.register_comm_hook(PowerSGDState(None, start_powerSGD_iter=1000), powerSGD_hook)
    one = torch.optim.SGD(plain[2].parameters(), lr=0.1)
    step = Step(torch.optim.SGD(model.module[2].parameters(), lr=0.1))
    for data in batches(ranks):
        plain.zero_grad()
        loss_of(plain, torch.cat([batch for r in data for batch in r])).backward()
        one.step()
        with step:
            for batch in step.micro_batches(data[rank], weight=len):
                step.backward(loss_of(model, batch))
    close(weights(model), weights(plain))


def check_a_hook_that_adds_up(rank: int, ranks: int) -> None:
    """Means by weight are means all the same; bare deposits are what DDP gives a loop by hand."""

    def hook(state, bucket):
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0])

    for sync in ("overlap", "commit", "each"):
        model, plain = DDP(net()), net()
        model.register_comm_hook(None, hook)
        one = torch.optim.SGD(plain.parameters(), lr=0.1)
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for number, data in enumerate(batches(ranks) * 2):
            weighted = number % 2 == 0
            everything = torch.cat([batch for r in data for batch in r])
            one.zero_grad()
            (loss_of(plain, everything) if weighted else loss_of(plain, data[0][0]) * ranks).backward()
            one.step()
            with step:
                if weighted:
                    for batch in step.micro_batches(data[rank], weight=len):
                        step.backward(loss_of(model, batch))
                else:
                    step.backward(loss_of(model, data[0][0]))
            close(weights(model), weights(plain))


def check_a_built_in_hook(rank: int, ranks: int) -> None:
    """Which only DDP's logger knows of: gradients of 1e-9 are none in fp16, so nobody has gone around it."""
    model = DDP(nn.Linear(4, 1, bias=False))
    model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    seen = []
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), inspect=lambda named: seen.extend(named.values()))
    for _ in range(2):
        with step:
            step.backward(model(torch.ones(1, 4)).sum() * 1e-9)
    assert all(not gradient.any() for gradient in seen)


def check_wrappers_are_left_as_they_were(rank: int, ranks: int) -> None:
    gc.collect()
    model = DDP(net())
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    with step:
        step.backward(loss_of(model, torch.ones(2, 4).double()))
    assert model.require_backward_grad_sync
    loss_of(model, torch.ones(2, 4).double() * rank).backward()  # plain DDP again
    same_everywhere(model.module[0].weight.grad)


def check_rows_of_voters(rank: int, ranks: int) -> None:
    """As many ranks do it: in rows, the last of which is shorter."""
    from datetime import timedelta

    from zerograd.engine.ranks.voting import Share, Vote, Voters

    voters = Voters(range(ranks), timedelta(seconds=20), flat=1)
    assert voters._rows == (2 if ranks > 2 else 1)
    heard = voters.count(Vote(ended=1, more=rank % 2, shares=(Share(mean=1, weight=0.1 * rank),)))
    assert (heard.ended, heard.more) == (ranks, ranks // 2)
    same_everywhere(torch.tensor([heard.shares[0].weight]))
    assert voters.hear(1 if rank == ranks - 1 else None, "because") == (ranks - 1, 1, "because")


def check_a_model_wrapped_after_the_first_block(rank: int, ranks: int) -> None:
    """A warm-up or a probe of shapes before the wrapping; then wrapped anew; then taken out of its wrapper again."""
    plain, inner = net(), net()
    one = torch.optim.SGD(plain.parameters(), lr=0.1)
    step = Step(torch.optim.SGD(inner.parameters(), lr=0.1))
    with step:
        step.backward(loss_of(inner, torch.ones(2, 4).double()))
    loss_of(plain, torch.ones(2, 4).double()).backward()
    one.step()
    for _ in range(2):
        model = DDP(inner)
        for data in batches(ranks):
            one.zero_grad()
            loss_of(plain, torch.cat([batch for r in data for batch in r])).backward()
            one.step()
            with step:
                for batch in step.micro_batches(data[rank], weight=len):
                    step.backward(loss_of(model, batch))
        close(weights(inner), weights(plain))
        same_everywhere(weights(inner))
        assert step._party is not None
        assert len(step._party.wrapper._ours) == 1
    del model
    gc.collect()
    if rank == 0:  # alone, and nobody is waited for
        with step:
            step.backward(loss_of(inner, torch.ones(2, 4).double()))
        assert step.outcome.moved
    assert step._find_party() is None


def check_a_second_wrapper_that_comes_later(rank: int, ranks: int) -> None:
    """It gets no gradient in the block of the first, and must not wait for one."""
    first = DDP(net())
    step = Step(torch.optim.SGD(first.parameters(), lr=0.1))
    with step:
        step.backward(loss_of(first, torch.ones(2, 4).double()))
    second = DDP(net(1))
    other = Step(torch.optim.SGD(second.parameters(), lr=0.1))
    for _ in range(3):
        with step:
            step.backward(first(second(torch.ones(2, 4).double()) * torch.ones(1, 4).double()).square().mean())
        with other:
            other.backward(first(second(torch.ones(2, 4).double()) * torch.ones(1, 4).double()).square().mean())
    same_everywhere(weights(first))
    same_everywhere(weights(second))


def check_the_unit_is_the_blocks_own(rank: int, ranks: int) -> None:
    """What came before changes no bit; and a parameter's hook sees the heaviest micro-batch nearly as it is."""
    data = [torch.full((n, 4), 0.1 * n) for n in ((3, 40), (700, 2), (5,), (1, 1, 9))[rank]]
    for sync in ("overlap", "commit", "each"):
        got, seen = [], []
        model = DDP(net().float())
        model.module[2].bias.register_hook(lambda gradient, seen=seen: seen.append(float(gradient)))
        step = Step(
            torch.optim.SGD(model.parameters(), lr=0.0),
            sync=sync,
            inspect=lambda named, got=got: got.append(torch.cat([one.flatten() for one in named.values()]).clone()),
        )
        for before in (1, 2**20, 3):
            with step:
                for batch in step.micro_batches(data, weight=len):
                    step.backward(model(batch).mean())
            with step:
                step.backward(model(data[0]).mean(), weight=before)
        assert torch.equal(got[0], got[2]), (sync, got[0] - got[2])
        assert torch.equal(got[0], got[4])
        heaviest = max(range(len(data)), key=lambda place: len(data[place]))
        assert 0.7 < seen[heaviest] < 1.42 or sync == "each", seen  # there it has the heaviest of all ranks beside it


def check_a_failure_in_a_forward_under_each(rank: int, ranks: int) -> None:
    for static in (False, True):
        model = DDP(net(), static_graph=static)
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync="each")
        for number in range(4):
            before = weights(model)
            begun = time.monotonic()
            try:
                with step:
                    for batch in step.micro_batches([torch.ones(2, 4).double()] * 2):
                        loss = loss_of(model, batch)
                        if rank == 1 and number == 1:
                            raise torch.OutOfMemoryError("in forward")
                        step.backward(loss)
            except torch.OutOfMemoryError:
                assert (rank, number) == (1, 1)
            except PeerFailed as error:
                assert "rank 1 failed: OutOfMemoryError('in forward')" in str(error)
            assert time.monotonic() - begun < int(os.environ["TIMEOUT"])
            assert torch.equal(before, weights(model)) == (number == 1)
        same_everywhere(weights(model))


def check_each_with_unequal_backwards(rank: int, ranks: int) -> None:
    """Nobody waits for a rank that has fewer: what it cannot join is reduced at commit."""
    plain, model = net(), DDP(net())
    one = torch.optim.SGD(plain.parameters(), lr=0.1)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync="each")
    for _ in range(2):
        x = torch.ones(2, 4).double()
        one.zero_grad()
        (loss_of(plain, x) * sum(range(1, ranks + 1)) / ranks).backward()
        one.step()
        with step:
            for _ in step.micro_batches([x] * (rank + 1), reduce="sum"):
                step.backward(loss_of(model, x))
        close(weights(model), weights(plain))


def check_no_sync_inside_the_block(rank: int, ranks: int) -> None:
    for sync in ("overlap", "commit", "each"):
        model = DDP(net())
        step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), sync=sync, clip=0.1)
        for mine in batches(ranks):
            with step:
                for batch in step.micro_batches(mine[rank], weight=len):
                    with model.no_sync():
                        loss = loss_of(model, batch)
                    step.backward(loss)
        close(weights(model), alone(ranks))


def check_split(rank: int, ranks: int) -> None:
    """What was deposited before a split that reduces is laid aside, and reduced all the same."""
    for sync in ("overlap", "commit", "each"):
        model = DDP(net())
        step = Step(torch.optim.AdamW(model.parameters(), lr=0.05), sync=sync, clip=0.1)
        for mine in batches(ranks):
            with step:
                for batch in step.micro_batches(mine[rank], weight=len):
                    step.split(batch, lambda part, model=model: loss_of(model, part), weight=len)
        close(weights(model), alone(ranks))


def check_a_backward_that_misses_parameters(rank: int, ranks: int) -> None:
    """A reduction that was foreseen, and waits for a parameter that this backward does not reach."""

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.a, self.b = nn.Linear(4, 1).double(), nn.Linear(4, 1).double()

        def forward(self, x, *, both):
            return self.a(x) + (self.b(x) if both else 0.0)

    plain = Two()
    one = torch.optim.SGD(plain.parameters(), lr=0.1)
    models = [DDP(Two(), bucket_cap_mb=1e-6), DDP(Two(), gradient_as_bucket_view=True)]
    steps = [Step(torch.optim.SGD(model.parameters(), lr=0.1)) for model in models]
    for both in (True, True, False, True, True):
        x = [torch.ones(2, 4).double() * (r + 1) for r in range(ranks)]
        one.zero_grad()
        (sum(plain(part, both=both).square().mean() for part in x) / ranks).backward()
        one.step()
        with steps[0]:
            steps[0].backward(models[0](x[rank], both=both).square().mean())
        close(weights(models[0]), weights(plain))
        try:
            with steps[1]:
                steps[1].backward(models[1](x[rank], both=both).square().mean())
        except StepError as error:
            assert not both
            assert "did not reach all of its parameters" in str(error)
        else:
            assert both
    same_everywhere(weights(models[1]))


def check_arms_that_change(rank: int, ranks: int) -> None:
    """Under find_unused_parameters, with other numbers of micro-batches and other arms on each rank and block."""
    x = torch.ones(2, 4).double()
    for sync in ("each", "overlap", "commit"):
        torch.manual_seed(0)
        plain, model = Branching(), Branching()
        model.load_state_dict(plain.state_dict())
        model = DDP(model, find_unused_parameters=True)
        one = torch.optim.SGD(plain.parameters(), lr=0.1)
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for number in range(4):
            items = sum((r + 1) * (number + r) for r in range(ranks))
            one.zero_grad()
            sum(
                plain(x * (place + 1), (r + place) % 2).mean() * (r + 1) / items
                for r in range(ranks)
                for place in range(number + r)
            ).backward()
            one.step()
            with step:
                for place in step.micro_batches(list(range(number + rank)), weight=lambda _: rank + 1):
                    step.backward(model(x * (place + 1), (rank + place) % 2).mean())
            close(weights(model), weights(plain))


def check_weights_without_micro_batches(rank: int, ranks: int) -> None:
    """Heavier ones come later, and elsewhere."""
    x = torch.ones(2, 4).double()
    of_each = [[(1, 1000), (3, 3)], [(5000, 1), (1, 2)], [(1, 1), (70000, 1)]]
    for sync, views in (("each", False), ("each", True), ("overlap", True), ("commit", False)):
        plain, model = net(), DDP(net(), gradient_as_bucket_view=views)
        one = torch.optim.SGD(plain.parameters(), lr=0.1)
        step = Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync)
        for first, second in of_each:
            one.zero_grad()
            weight = [(first[r % 2] + second[r % 2]) for r in range(ranks)]
            sum(loss_of(plain, x * (r + 1)) * weight[r] / sum(weight) for r in range(ranks)).backward()
            one.step()
            with step:
                step.backward(loss_of(model, x * (rank + 1)), weight=first[rank % 2])
                step.backward(loss_of(model, x * (rank + 1)), weight=second[rank % 2])
            close(weights(model), weights(plain))


def check_joins_in_every_mode(rank: int, ranks: int) -> None:
    for sync in ("each", "overlap", "commit"):
        models, plain = [DDP(net(seed)) for seed in range(2)], [net(seed) for seed in range(2)]
        steps = [Step(torch.optim.SGD(model.parameters(), lr=0.1), sync=sync) for model in models]
        for data in batches(ranks):
            everything = torch.cat([batch for r in data for batch in r])
            for model in plain:
                model.zero_grad()
                loss_of(model, everything).backward()
                torch.optim.SGD(model.parameters(), lr=0.1).step()
            with join(*steps) as both:
                for batch in both.micro_batches(data[rank], weight=len):
                    for step, model in zip(steps, models, strict=True):
                        step.backward(loss_of(model, batch))
        for model, other in zip(models, plain, strict=True):
            close(weights(model), weights(other))


def check_half_precision(rank: int, ranks: int) -> None:
    """The sum of 8 would be infinite in fp16, and its mean is not."""
    for sync in ("each", "overlap", "commit"):
        model = DDP(nn.Linear(4, 1, bias=False).half())
        step = Step(torch.optim.SGD(model.parameters(), lr=1e-5), sync=sync, clip=1e9)
        for _ in range(3):
            with step:
                for batch in step.micro_batches([torch.ones(1, 4).half()] * 8):
                    step.backward(model(batch).sum() * 30000.0)
            assert step.outcome.moved
            assert abs(step.outcome.norm - 60000) < 60


def check_ranks_that_part_and_meet_again(rank: int, ranks: int) -> None:
    inner = net()
    step = Step(torch.optim.SGD(inner.parameters(), lr=0.1))
    model = DDP(inner)
    x = torch.ones(2, 4).double()
    with step:
        step.backward(loss_of(model, x * (rank + 1)))
    same_everywhere(weights(inner))
    del model
    gc.collect()
    dist.destroy_process_group()
    with step:  # alone
        step.backward(loss_of(inner, x))
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[2]}/again", rank=rank, world_size=ranks)
    model = DDP(inner)
    for _ in range(2):
        with step:
            step.backward(loss_of(model, x * (rank + 1)))
    same_everywhere(weights(inner))
