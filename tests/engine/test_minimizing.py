"""LBFGS and SAM: the closure is run again and again, and the step is a transaction all the same."""

import copy

import pytest
import torch
from torch import nn

from engine.nets import make_model, sgd, weights
from zerograd import Step, StepError
from zerograd.engine.outcome import Ending

X = torch.randn(12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


class SAM(torch.optim.Optimizer):
    """Sharpness-aware minimisation: the gradient at the worst point nearby."""

    def __init__(self, params, base, rho=0.05):
        self.base, self.rho = base, rho
        super().__init__(params, {})
        self.param_groups = base.param_groups

    @torch.no_grad()
    def step(self, closure):
        loss = closure()
        params = [parameter for group in self.param_groups for parameter in group["params"]]
        norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in params])
        moves = [parameter.grad * (self.rho / (norm + 1e-12)) for parameter in params]
        torch._foreach_add_(params, moves)
        closure()
        torch._foreach_sub_(params, moves)
        self.base.step()
        return loss


def _lbfgs(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")


def _sam(model: nn.Module) -> torch.optim.Optimizer:
    return SAM(list(model.parameters()), torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))


@pytest.mark.parametrize("make", [_lbfgs, _sam])
def test_it_is_the_closure_written_by_hand(make) -> None:
    by_hand, by_step = make_model(torch.float64), make_model(torch.float64)
    optimizer, step = make(by_hand), Step(make(by_step))

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        with torch.enable_grad():
            loss = by_hand(X).square().mean()
            loss.backward()
        return loss

    for _ in range(4):
        with torch.no_grad():
            first = by_step(X).square().mean()
        assert step.minimize(lambda s: s.backward(by_step(X).square().mean())) == pytest.approx(float(first))
        optimizer.step(closure)
    assert torch.equal(weights(by_hand), weights(by_step))
    assert (step.committed, step.outcome.kind) == (4, Ending.COMMITTED)
    assert all(parameter.grad is None for parameter in by_step.parameters())


def test_the_closure_may_accumulate() -> None:
    parts, whole = make_model(torch.float64), make_model(torch.float64)
    by_parts, by_whole = Step(_lbfgs(parts)), Step(_lbfgs(whole))

    def deposit(step: Step) -> None:
        for part in step.micro_batches(X.split(5), weight=len):
            step.backward(parts(part).square().mean())

    by_parts.minimize(deposit)
    by_whole.minimize(lambda step: step.backward(whole(X).square().mean()))
    torch.testing.assert_close(weights(parts), weights(whole), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("fails_at", [1, 2, 3])
@pytest.mark.parametrize("make", [_lbfgs, _sam])
@pytest.mark.parametrize("how", ["raise", "nan", "abort"])
@pytest.mark.filterwarnings("ignore:zerograd skipped")
def test_a_failure_at_any_evaluation_is_taken_back(make, fails_at: int, how: str) -> None:
    model = make_model(torch.float64)
    optimizer = make(model)
    step = Step(optimizer)
    step.minimize(lambda s: s.backward(model(X).square().mean()))
    before, state = weights(model), copy.deepcopy(optimizer.state_dict())
    count = 0

    def deposit(s: Step) -> None:
        nonlocal count
        count += 1
        loss = model(X).square().mean()
        if count == fails_at and how == "raise":
            raise ZeroDivisionError
        if count == fails_at and how == "abort":
            s.abort()
        s.backward(loss * float("nan") if count == fails_at else loss)

    try:
        step.minimize(deposit)
    except ZeroDivisionError:
        assert how == "raise"
    if count < fails_at:
        return  # SAM asks twice
    assert step.outcome.kind is {"raise": Ending.ROLLED_BACK, "nan": Ending.SKIPPED, "abort": Ending.ABORTED}[how]
    assert torch.equal(before, weights(model))
    assert str(optimizer.state_dict()) == str(state)
    step.minimize(lambda s: s.backward(model(X).square().mean()))
    assert step.outcome.moved


def test_what_cannot_be() -> None:
    model = make_model()
    with pytest.raises(StepError, match="several optimizers"):
        Step([sgd(model[0]), sgd(model[2])]).minimize(lambda s: None)
    with pytest.raises(StepError, match="GradScaler"):
        Step(sgd(model), scaler=torch.amp.GradScaler("cpu")).minimize(lambda s: None)
    step = Step(sgd(model))
    with pytest.raises(StepError, match="already open"), step:
        step.minimize(lambda s: None)
    with pytest.raises(StepError, match="nothing was deposited"):
        step.minimize(lambda s: None)
    with pytest.raises(StepError, match="by hand"):
        step.minimize(lambda s: step.optimizers[0].step())


def test_the_weights_that_autocast_has_copied_are_forgotten() -> None:
    """Its cache outlives an update in place: every evaluation but the first saw the first one's weights."""
    model = make_model()
    seen = []

    def deposit(s: Step) -> None:
        loss = model(X.float()).float().square().mean()
        seen.append(loss.item())
        s.backward(loss)

    with torch.autocast("cpu", dtype=torch.bfloat16):  # an outer one keeps the cache alive
        Step(torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=3), autocast=torch.bfloat16).minimize(deposit)
    assert len(set(seen)) == len(seen)


def test_a_block_of_an_optimizer_that_needs_a_closure_is_refused_before_it_begins() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    step = Step(torch.optim.LBFGS([weight]))
    with pytest.raises(StepError, match="minimize"), step:
        raise AssertionError("not reached")
    step.minimize(lambda step: step.backward(weight.square().sum()))
    assert step.committed == 1
