"""No trace that Step writes breaks a lifecycle rule, whatever is done inside the block; nor does the auditor mind.

And the weights move only by what was deposited through the Step: a block that commits says so, any other moves nothing.
"""

import warnings
from contextlib import suppress

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zerograd import Step, audit, join
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
        "split",
        "out of memory",
        "also",
        "carry",
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


def _fitting(rows: torch.Tensor) -> torch.Tensor:
    if len(rows) > 1:
        raise torch.OutOfMemoryError
    return rows


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
        case "split":
            step.split(x, lambda rows: model(rows).mean())
        case "out of memory":
            step.split(x, lambda rows: model(_fitting(rows)).mean())
        case "also":
            leaf = x.clone().requires_grad_()
            step.backward(model(leaf).sum(), also=[leaf])
        case "carry":
            step.backward(model(step.carry(x)).sum())
        case "broken backward":
            with suppress(Fault):
                step.backward(Breaking.apply(model(x)).sum())


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(ACTIONS, max_size=3), max_size=5), st.booleans(), st.booleans())
def test_no_step_trace_breaks_a_rule(blocks: list[list[str]], scaled: bool, scheduled: bool) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    events: list[Event] = []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = Step(
        optimizer,
        clip=1.0,
        scaler=torch.amp.GradScaler("cpu", init_scale=4.0, enabled=scaled),
        scheduler=torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99) if scheduled else None,
        inspect=lambda named: None,
        trace=events.append,
    )
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
    assert [finding for finding in watch.findings if finding.fails] == []


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(["join", "minimize", "one fails", "one is nan", "closure fails"]), max_size=6))
def test_nor_does_that_of_joined_steps_and_closures(blocks: list[str]) -> None:
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 1) for _ in range(2)]
    x = torch.ones(2, 3)
    events: list[Event] = []
    steps = [Step(torch.optim.SGD(net.parameters(), lr=0.01), clip=1.0, trace=events.append) for net in models]
    closures = Step(torch.optim.LBFGS(models[0].parameters(), max_iter=3), trace=events.append)

    def deposit(step: Step, fails: bool) -> None:
        step.backward(models[0](x).square().mean())
        if fails:
            raise Fault

    with warnings.catch_warnings(), audit(on_finding="collect") as watch:
        warnings.simplefilter("ignore")
        for block in blocks:
            with suppress(Fault):
                if block in ("minimize", "closure fails"):
                    closures.minimize(lambda step, block=block: deposit(step, block == "closure fails"))
                else:
                    with join(*steps) as both:
                        for part in both.micro_batches(x.split(1)):
                            for step, net in zip(steps, models, strict=True):
                                step.backward(net(part).mean() * (float("nan") if block == "one is nan" else 1.0))
                        if block == "one fails":
                            raise Fault
    assert replay(events) == []
    assert [finding for finding in watch.findings if finding.fails] == []
