"""What a Step computes, and what it refuses."""

import threading
from contextlib import suppress

import pytest
import torch
from torch import nn

from zerograd import Diverged, Step, StepError, groups
from zerograd.engine.outcome import Ending
from zerograd.errors import TornStep

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "adamw-fused": lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
}
BATCHES = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(6)]


def _model(dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(dtype)


def _weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("clip", [None, 0.05])
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_plain_loop_is_bitwise_the_same(make, clip: float | None) -> None:
    by_hand, by_step = _model(), _model()
    optimizer = make(by_hand.parameters())
    step = Step(make(by_step.parameters()), clip=clip)
    for x, y in BATCHES:
        optimizer.zero_grad()
        nn.functional.mse_loss(by_hand(x), y).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(by_hand.parameters(), clip)
        optimizer.step()
        with step:
            step.backward(nn.functional.mse_loss(by_step(x), y))
    assert torch.equal(_weights(by_hand), _weights(by_step))
    assert step.committed == len(BATCHES)


def test_unequal_micro_batches_equal_the_full_batch() -> None:
    x, y = torch.randn(23, 4, dtype=torch.float64), torch.randn(23, 1, dtype=torch.float64)
    whole, parts = _model(torch.float64), _model(torch.float64)
    whole_step = Step(torch.optim.SGD(whole.parameters(), lr=0.1))
    parts_step = Step(torch.optim.SGD(parts.parameters(), lr=0.1), clip=10.0)
    for _ in range(5):
        with whole_step:
            whole_step.backward(nn.functional.mse_loss(whole(x), y))
        for group in groups(zip(x.split(5), y.split(5), strict=True), 9):
            with parts_step:
                for part, target in parts_step.micro_batches(group, weight=lambda b: len(b[0])):
                    parts_step.backward(nn.functional.mse_loss(parts(part), target))
    assert torch.allclose(_weights(whole), _weights(parts), rtol=1e-12, atol=0)
    assert parts_step.outcome.weight == 23
    assert parts_step.outcome.micro_batches == 5


def test_two_losses_of_one_micro_batch_add() -> None:
    a, b = _model(torch.float64), _model(torch.float64)
    x = torch.randn(6, 4, dtype=torch.float64)
    step = Step(torch.optim.SGD(a.parameters(), lr=0.1))
    with step:
        for part in step.micro_batches(x.split(2), weight=len):
            step.backward(a(part).mean())
            step.backward(a(part).square().mean())
    optimizer = torch.optim.SGD(b.parameters(), lr=0.1)
    (b(x).mean() + b(x).square().mean()).backward()
    optimizer.step()
    assert torch.allclose(_weights(a), _weights(b), rtol=1e-12)


def test_summed_micro_batches() -> None:
    a, b = _model(torch.float64), _model(torch.float64)
    x = torch.randn(6, 4, dtype=torch.float64)
    step = Step(torch.optim.SGD(a.parameters(), lr=0.1))
    with step:
        for part in step.micro_batches(x.split(2), reduce="sum"):
            step.backward(a(part).sum())
    optimizer = torch.optim.SGD(b.parameters(), lr=0.1)
    b(x).sum().backward()
    optimizer.step()
    assert torch.allclose(_weights(a), _weights(b), rtol=1e-12)


def test_several_optimizers_commit_together() -> None:
    model = _model()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    step = Step([torch.optim.SGD(model[0].parameters(), lr=0.1), torch.optim.Adam(model[2].parameters(), lr=0.1)])
    with step:
        step.backward(model(BATCHES[0][0]).square().mean())
    assert all(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def test_an_exception_leaves_nothing_behind() -> None:
    model = _model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    step = Step(optimizer)
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    before, state = _weights(model), optimizer.state_dict()["state"][0]["exp_avg"].clone()
    with pytest.raises(ZeroDivisionError), step:
        step.backward(model(BATCHES[1][0]).sum())
        1 / 0  # noqa: B018
    assert torch.equal(before, _weights(model))
    assert torch.equal(state, optimizer.state_dict()["state"][0]["exp_avg"])
    assert all(parameter.grad is None for parameter in model.parameters())
    assert step.outcome.kind is Ending.ROLLED_BACK
    assert "ZeroDivisionError" in step.outcome.cause


def test_what_lay_there_before_the_block_is_not_consumed() -> None:
    model, clean = _model(), _model()
    model(BATCHES[0][0]).sum().backward()
    for net in (model, clean):
        step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
        with step:
            step.backward(net(BATCHES[1][0]).sum())
    assert torch.equal(_weights(model), _weights(clean))


def test_a_step_that_is_not_finite_is_skipped() -> None:
    model = _model()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    before = _weights(model)
    with pytest.warns(RuntimeWarning, match="skipped a step"), step:
        step.backward(model(BATCHES[0][0]).sum() * float("inf"))
    assert torch.equal(before, _weights(model))
    assert (step.outcome.kind, step.committed, step.skipped) == (Ending.SKIPPED, 0, 1)
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.COMMITTED


def test_divergence_is_not_hidden() -> None:
    model = _model()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1), max_skips=3)
    with pytest.warns(RuntimeWarning), pytest.raises(Diverged, match="3 steps in a row"):
        for _ in range(3):
            with step:
                step.backward(model(BATCHES[0][0]).sum() * float("nan"))


def test_large_half_precision_gradients_are_finite() -> None:
    weight = nn.Parameter(torch.zeros(4, dtype=torch.float16))
    step = Step(torch.optim.SGD([weight], lr=1e-5), clip=1.0)
    with step:
        step.backward((weight * 40000.0).sum())
    assert step.outcome.kind is Ending.COMMITTED
    assert step.outcome.norm == pytest.approx(80000.0)


def test_a_generator_leaves_nothing_in_the_discriminator() -> None:
    G, D = nn.Linear(2, 4), nn.Linear(4, 1)
    step = Step(torch.optim.SGD(G.parameters(), lr=0.1))
    with step:
        step.backward(D(G(torch.randn(3, 2))).sum())
    assert D.weight.grad is None


@pytest.mark.parametrize("reentrant", [False, True])
def test_isolation_survives_checkpointing(reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    G, D = nn.Linear(2, 4), nn.Linear(4, 1)
    D.weight.grad = kept = torch.ones_like(D.weight)
    before = G.weight.detach().clone()
    step = Step(torch.optim.SGD(G.parameters(), lr=0.1))
    with step:
        step.backward(checkpoint(D, G(torch.randn(3, 2)), use_reentrant=reentrant).sum())
    assert not torch.equal(before, G.weight)
    assert D.weight.grad is kept
    assert torch.equal(kept, torch.ones_like(kept))
    assert D.bias.grad is None


def test_checkpointed_parameters_of_its_own_are_updated() -> None:
    from torch.utils.checkpoint import checkpoint

    model = _model()
    before = _weights(model)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    with step:
        hidden = checkpoint(model[0], BATCHES[0][0].clone().requires_grad_(), use_reentrant=True)
        step.backward(model[2](hidden).sum())
    assert (before != _weights(model)).all()


def test_sparse_gradients() -> None:
    table = nn.Embedding(10, 3, sparse=True)
    before = table.weight.detach().clone()
    step = Step(torch.optim.SGD(table.parameters(), lr=0.1), clip=0.5)
    with step:
        for part in step.micro_batches([torch.tensor([1, 1]), torch.tensor([2])], weight=len):
            step.backward(table(part).mean())
    assert not torch.equal(before[1:3], table.weight[1:3])
    assert torch.equal(before[3:], table.weight[3:])


def _refused(step: Step, model: nn.Module) -> dict[str, object]:
    x = BATCHES[0][0]

    def looped() -> None:
        with step:
            for _ in range(2):
                step.backward(model(x).sum())

    def left_early() -> None:
        with step:
            for _ in step.micro_batches(range(3)):
                step.backward(model(x).sum())
                break

    def mixed() -> None:
        with step:
            step.backward(model(x).mean(), weight=2)
            step.backward(model(x).mean())

    def weight_inside() -> None:
        with step:
            for _ in step.micro_batches(range(2)):
                step.backward(model(x).mean(), weight=2)

    def from_a_thread() -> None:
        failures: list[BaseException] = []

        def work() -> None:
            try:
                step.backward(model(x).sum())
            except StepError as error:
                failures.append(error)

        with step:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            raise failures[0]

    def nested() -> None:
        with step, step:
            pass

    def shared() -> None:
        with step, Step(torch.optim.SGD(model[0].parameters(), lr=0.1)):
            pass

    def empty() -> None:
        with step:
            pass

    def detached() -> None:
        with step:
            step.backward(model(x).sum().detach())

    def negative() -> None:
        with step:
            step.backward(model(x).sum(), weight=-1)

    def caught() -> None:
        class Bad(torch.autograd.Function):
            @staticmethod
            def forward(ctx, value):
                return value.clone()

            @staticmethod
            def backward(ctx, grad):
                raise RuntimeError("out of memory")

        with step:
            step.backward(model(x).sum())
            with suppress(RuntimeError):
                step.backward(model(Bad.apply(x.clone().requires_grad_())).sum() + Bad.apply(model(x)).sum())

    return {
        "called in a loop": looped,
        "left before its end": left_early,
        "no denominator": mixed,
        "weight of its own": weight_inside,
        "another thread": from_a_thread,
        "already open": nested,
        "share 2 parameters": shared,
        "nothing was deposited": empty,
        "does not require a gradient": detached,
        "weighs -1": negative,
        "was caught there": caught,
        "outside the block": lambda: step.backward(model(x).sum()),
    }


@pytest.mark.parametrize("what", list(_refused(Step(torch.optim.SGD(_model().parameters(), lr=0.1)), _model())))
def test_mistakes_are_refused_and_nothing_is_committed(what: str) -> None:
    model = _model()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    before = _weights(model)
    with pytest.raises(StepError, match=what) as caught:
        _refused(step, model)[what]()
    assert caught.value.cure
    assert torch.equal(before, _weights(model))
    with step:  # and the next block is as good as new
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.COMMITTED


def test_a_torn_step_says_so_and_goes_no_further() -> None:
    class Torn(torch.optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            raise MemoryError("half-way")

    model = _model()
    step = Step(Torn(model.parameters(), lr=0.1))
    with pytest.raises(TornStep, match="MemoryError"), step:
        step.backward(model(BATCHES[0][0]).sum())
    with pytest.raises(StepError, match="torn"), step:
        pass


def test_abort_gives_the_step_up_quietly() -> None:
    model = _model()
    before = _weights(model)
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    with step:
        step.backward(model(BATCHES[0][0]).sum())
        step.abort()
    assert step.outcome.kind is Ending.ABORTED
    assert torch.equal(before, _weights(model))


def test_micro_batches_that_weigh_nothing_are_left_out() -> None:
    model = _model()
    step = Step(torch.optim.SGD(model.parameters(), lr=0.1))
    with step:
        seen = list(step.micro_batches([0, 0], weight=float))
    assert seen == []
    assert (step.outcome.kind, step.outcome.cause) == (Ending.SKIPPED, "every micro-batch weighed 0")
