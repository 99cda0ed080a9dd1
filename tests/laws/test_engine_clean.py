"""No trace that Step writes breaks a lifecycle rule, whatever is done inside the block; nor does the auditor mind.

And the weights move only by what was deposited through the Step: a block that commits says so, any other moves nothing.
"""

import warnings
from contextlib import suppress

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zerograd import Step, audit
from zerograd.core.events import Event
from zerograd.engine.outcome import Ending
from zerograd.errors import StepError
from zerograd.trace.replay import replay

ACTIONS = st.sampled_from(
    [
        "backward",
        "weighted",
        "micro",
        "sum",
        "leave early",
        "nan",
        "raise",
        "abort",
        "caught",
        "nothing",
        "two losses",
        "raw backward",
        "zero_grad",
        "fill with zeros",
        "clip by hand",
        "step by hand",
        "swallowed abort",
        "nested micro",
        "broken backward",
    ]
)


class Fault(Exception):
    pass


class Breaking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, grad):
        raise Fault


def _act(action: str, step: Step, model: torch.nn.Module) -> None:
    x = torch.ones(2, 3)
    (optimizer,) = step.optimizers
    match action:
        case "backward":
            step.backward(model(x).sum())
        case "weighted":
            step.backward(model(x).mean(), weight=3)
        case "micro":
            for weight in step.micro_batches([2, 0, 1], weight=float):
                step.backward(model(x * weight).mean())
        case "sum":
            for _ in step.micro_batches(range(2), reduce="sum"):
                step.backward(model(x).mean())
        case "leave early":
            for _ in step.micro_batches(range(2)):
                step.backward(model(x).mean())
                break
        case "nan":
            step.backward(model(x).sum() * float("nan"))
        case "raise":
            step.backward(model(x).sum())
            raise Fault
        case "abort":
            step.abort()
        case "caught":
            with suppress(StepError):
                step.backward(torch.ones(()))
        case "two losses":
            out = model(x)
            step.backward(out.sum() * 2)
            step.backward(model(x).mean())
        case "raw backward":
            model(x).sum().backward()
        case "zero_grad":
            optimizer.zero_grad()
        case "fill with zeros":
            optimizer.zero_grad(set_to_none=False)
        case "clip by hand":
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        case "step by hand":
            step.backward(model(x).sum())
            optimizer.step()
        case "swallowed abort":
            with suppress(BaseException):
                step.abort()
        case "nested micro":
            for _ in step.micro_batches(range(2)):
                step.backward(model(x).mean())
                for _ in step.micro_batches(range(2)):
                    step.backward(model(x).mean())
        case "broken backward":
            with suppress(Fault):
                step.backward(Breaking.apply(model(x)).sum())


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(ACTIONS, max_size=3), max_size=5))
def test_no_step_trace_breaks_a_rule(blocks: list[list[str]]) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    events: list[Event] = []
    step = Step(torch.optim.SGD(model.parameters(), lr=0.01), clip=1.0, trace=events.append)
    with warnings.catch_warnings(), audit(on_finding="collect") as watch:
        warnings.simplefilter("ignore")
        for actions in blocks:
            before = [parameter.detach().clone() for parameter in model.parameters()]
            with suppress(Fault, StepError), step:
                for action in actions:
                    _act(action, step, model)
            assert all(parameter.grad is None for parameter in model.parameters())
            moved = any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
            assert moved == (step.outcome.kind is Ending.COMMITTED)
    assert replay(events) == []
    assert watch.findings == []
