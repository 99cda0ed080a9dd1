"""A wrapper whose step() does nothing commits nothing, and says so before anything moves."""

import pytest
import torch

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, StepError, join
from zerograd.engine.outcome import Ending
from zerograd.engine.wrapping import inner_of

accelerate = pytest.importorskip("accelerate")


class Every(torch.optim.Optimizer):
    """Steps the optimizer inside every few times, as Accelerate's does under accumulate()."""

    def __init__(self, optimizer: torch.optim.Optimizer, often: int) -> None:
        self.optimizer, self.often, self.calls = optimizer, often, 0

    @property
    def param_groups(self) -> list:  # type: ignore[override]
        return self.optimizer.param_groups

    def step(self, closure=None) -> None:  # type: ignore[override]
        self.calls += 1
        if self.calls % self.often == 0:
            self.optimizer.step(closure)


def test_accelerates_optimizer_under_accumulate_is_refused() -> None:
    accelerator = accelerate.Accelerator(gradient_accumulation_steps=4, cpu=True)
    model = make_model()
    optimizer = accelerator.prepare(sgd(model))
    step = Step(optimizer)
    before, moved = weights(model), []
    for x, _ in BATCHES[:4]:
        with accelerator.accumulate(model):
            try:
                with step:
                    step.backward(model(x).square().mean())
            except StepError as error:
                assert "did nothing" in str(error)
                assert step.outcome.kind is Ending.ROLLED_BACK
                assert torch.equal(weights(model), before)
        moved.append(step.outcome.moved)
    assert moved == [False, False, False, True]
    assert step.committed == 1
    assert not torch.equal(weights(model), before)


def test_without_accumulation_it_is_the_optimizer_inside() -> None:
    accelerator = accelerate.Accelerator(cpu=True)
    model, other = make_model(), make_model()
    inside = sgd(model)
    step, plain = Step(accelerator.prepare(inside), clip=0.1), Step(sgd(other), clip=0.1)
    assert inner_of(step.optimizers[0]) is inside
    for x, _ in BATCHES:
        for net, one in ((model, step), (other, plain)):
            with one:
                one.backward(net(x).square().mean())
    assert torch.equal(weights(model), weights(other))


def test_of_several_optimizers_wrappers_step_first() -> None:
    model = make_model()
    before = weights(model)
    step = Step([sgd(model[0]), Every(sgd(model[2]), 2)])
    with pytest.raises(StepError, match=r"Every\.step"), step:
        step.backward(model(BATCHES[0][0]).sum())
    assert torch.equal(weights(model), before)
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.moved


def test_what_has_moved_before_is_torn() -> None:
    model = make_model()
    first, second = Step(sgd(model[0])), Step(Every(sgd(model[2]), 2))
    with pytest.raises(StepError, match=r"Every\.step"), join(first, second):
        first.backward(model(BATCHES[0][0]).sum())
        second.backward(model(BATCHES[0][0]).square().sum())
    assert first.outcome.kind is second.outcome.kind is Ending.TORN


def test_a_closure_that_nobody_calls() -> None:
    model = make_model()
    step = Step(Every(torch.optim.LBFGS(model.parameters()), 2))
    with pytest.raises(StepError, match=r"Every\.step"):
        step.minimize(lambda step: step.backward(model(BATCHES[0][0]).sum()))
    assert step.committed == 0


def test_a_scaler_inside_is_refused() -> None:
    wrapper = Every(sgd(make_model()), 1)
    wrapper.scaler = torch.amp.GradScaler("cpu")
    with pytest.raises(StepError, match="a GradScaler of its own"):
        Step(wrapper)


def test_a_fused_optimizer_inside_is_not_left_to_divide() -> None:
    """Its wrapper would be told what to divide by, and not the optimizer itself."""

    class Copying(torch.optim.SGD):  # as Fabric's
        def __init__(self, optimizer: torch.optim.SGD) -> None:
            self.__dict__ = {**optimizer.__dict__, "_optimizer": optimizer}

        def step(self, closure=None) -> None:  # type: ignore[override]
            self._optimizer.step(closure)

    model, whole = make_model(), make_model()
    step = Step(Copying(torch.optim.SGD(model.parameters(), lr=0.1, fused=True)))
    with step:
        for part in step.micro_batches(BATCHES[0][0].split(3), weight=len):
            step.backward(model(part).square().mean())
    plain = Step(sgd(whole))
    with plain:
        plain.backward(whole(BATCHES[0][0]).square().mean())
    torch.testing.assert_close(weights(model), weights(whole))
