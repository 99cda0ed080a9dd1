"""What a Step cannot be asked for is refused when it is made, and the error names what can."""

import gc

import pytest
import torch

from engine.nets import BATCHES, make_model, sgd
from zerograd import Step, StepError
from zerograd.engine.outcome import Ending
from zerograd.trace.lines import read_trace


@pytest.mark.parametrize(
    "clip",
    [
        0,
        -1.0,
        float("-inf"),
        float("nan"),
        "1.0",
        True,
        [1.0],
        {},
        {"norm": 0},
        {"norm": 1, "value": 1},
        {"per": "group"},
    ],
)
def test_clip(clip: object) -> None:
    with pytest.raises(StepError, match="clip=") as caught:
        Step(sgd(make_model()), clip=clip)
    assert caught.value.cure.startswith("clip is a positive number (the largest norm; infinity only measures it), ")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"scheduler": 3}, "scheduler=3"),
        ({"scaler": 2.0**16}, "scaler=65536"),
        ({"autocast": "bf16"}, "autocast='bf16'"),
        ({"restore": "everything"}, "restore='everything'"),
        ({"restore": ["rng", "buffers"]}, "without a model"),
        ({"inspect": ["norm"]}, "inspect="),
        ({"inspect": 3}, "inspect="),
        ({"restore": 3}, "restore="),
        ({"trace": 3}, "trace="),
        ({"model": "resnet"}, "model="),
        ({"scaler": torch.amp.GradScaler("cpu"), "nonfinite": "ignore"}, "with a GradScaler"),
        ({"scaler": torch.amp.GradScaler("cpu"), "nonfinite": "raise"}, "with a GradScaler"),
    ],
)
def test_options(options: dict, match: str) -> None:
    with pytest.raises(StepError, match=match) as caught:
        Step(sgd(make_model()), **options)
    assert caught.value.cure


def test_a_schedule_that_needs_a_metric_or_another_optimizer_is_refused() -> None:
    mine, other = sgd(make_model()), sgd(make_model())
    with pytest.raises(StepError, match="a commit has none"):
        Step(mine, scheduler=torch.optim.lr_scheduler.ReduceLROnPlateau(mine))
    with pytest.raises(StepError, match="does not hold"):
        Step(mine, scheduler=torch.optim.lr_scheduler.StepLR(other, 1))


@pytest.mark.parametrize("nonfinite", ["Skip", None, "zero"])
def test_nonfinite(nonfinite: object) -> None:
    with pytest.raises(StepError, match="nonfinite=") as caught:
        Step(sgd(make_model()), nonfinite=nonfinite)
    assert caught.value.cure == 'nonfinite is "skip", "raise" or "ignore".'


@pytest.mark.parametrize("max_skips", [0, -1, None, float("nan"), "20"])
def test_max_skips(max_skips: object) -> None:
    with pytest.raises(StepError, match="max_skips=") as caught:
        Step(sgd(make_model()), max_skips=max_skips)
    assert caught.value.cure == "max_skips is a number of at least 1."


def test_reduce_is_refused_where_it_is_written() -> None:
    """At the call, not at the first iteration."""
    step = Step(sgd(make_model()))
    with pytest.raises(StepError, match="reduce='avg'") as caught, step:
        step.micro_batches(range(2), reduce="avg")
    assert caught.value.cure == 'reduce is "mean" or "sum".'


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda optimizer: [], "no optimizer"),
        (lambda optimizer: [optimizer, optimizer], "same optimizer twice"),
        (lambda optimizer: make_model().parameters(), "a Parameter where"),
        (lambda optimizer: make_model(), "a Linear where"),
        (lambda optimizer: None, "a NoneType where"),
    ],
)
def test_optimizers(make, what: str) -> None:
    with pytest.raises(StepError, match=what) as caught:
        Step(make(sgd(make_model())))
    assert caught.value.slug == "optimizers"


def test_what_is_valid_is_taken() -> None:
    model = make_model()
    for options in ({"clip": 1}, {"clip": 0.5, "max_skips": 1}, {"nonfinite": "ignore"}, {"max_skips": float("inf")}):
        step = Step((sgd(model),), **options)
        with step:
            step.backward(model(BATCHES[0][0]).sum())
        assert step.outcome.kind is Ending.COMMITTED
    assert step.outcome.norm is None  # nobody measured it


def test_a_trace_may_be_a_path(tmp_path) -> None:
    model = make_model()
    step = Step(sgd(model), trace=tmp_path / "run.jsonl")
    with step:
        step.backward(model(BATCHES[0][0]).sum())
    del step
    gc.collect()
    kinds = [event.kind.value for event in read_trace(tmp_path / "run.jsonl")]
    assert kinds == ["clear", "deposit", "consume", "clear"]
