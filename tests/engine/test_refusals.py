"""What a Step refuses. Nothing is committed, and the next block is as good as new."""

import threading
from contextlib import suppress

import pytest
import torch
from torch import nn

from engine.nets import BATCHES, make_model, sgd, weights
from zerograd import Step, StepError
from zerograd.engine.outcome import Ending


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


@pytest.mark.parametrize("what", list(_refused(Step(sgd(make_model())), make_model())))
def test_mistakes_are_refused_and_nothing_is_committed(what: str) -> None:
    model = make_model()
    step = Step(sgd(model))
    before = weights(model)
    with pytest.raises(StepError, match=what) as caught:
        _refused(step, model)[what]()
    assert caught.value.cure
    assert torch.equal(before, weights(model))
    with step:  # and the next block is as good as new
        step.backward(model(BATCHES[0][0]).sum())
    assert step.outcome.kind is Ending.COMMITTED
