"""No trace that Step writes breaks a lifecycle rule, whatever is done inside the block; nor does the auditor mind."""

import warnings
from contextlib import suppress

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zerograd import Step, audit
from zerograd.core.events import Event
from zerograd.errors import StepError
from zerograd.trace.replay import replay

ACTIONS = st.sampled_from(
    ["backward", "weighted", "micro", "sum", "leave early", "nan", "raise", "abort", "caught", "nothing", "two losses"]
)


class Fault(Exception):
    pass


def _act(action: str, step: Step, model: torch.nn.Module) -> None:
    x = torch.ones(2, 3)
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
            with suppress(Fault, StepError), step:
                for action in actions:
                    _act(action, step, model)
            assert all(parameter.grad is None for parameter in model.parameters())
    assert replay(events) == []
    assert watch.findings == []
