"""Ranges lie in a profile where they are asked for, and nowhere else."""

import json
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from zerograd import Step
from zerograd.errors import StepError

NAMES = {"zerograd.backward", "zerograd.clip", "zerograd.step", "zerograd.skip"}


def ranges(path: Path, *, asked: bool) -> list[str]:
    """Of a step, and of one that is skipped, in the order in which they begin."""
    weight = torch.nn.Parameter(torch.ones(3))
    step = Step(torch.optim.SGD([weight], lr=0.1), clip=1.0, ranges=asked)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        for factor in (1.0, float("nan")):
            with step:
                step.backward((weight * factor).sum())
    seen.export_chrome_trace(str(path / "trace.json"))
    events = json.loads((path / "trace.json").read_text())["traceEvents"]
    mine = [event for event in events if event.get("name", "").startswith("zerograd.")]
    return [event["name"] for event in sorted(mine, key=lambda event: event["ts"])]


@pytest.mark.filterwarnings("ignore:zerograd skipped a step")
def test_what_a_step_does_stands_in_the_profile(tmp_path: Path) -> None:
    whole = ["zerograd.backward", "zerograd.clip", "zerograd.step", "zerograd.backward", "zerograd.skip"]
    assert ranges(tmp_path, asked=True) == whole
    assert ranges(tmp_path, asked=False) == []


def test_what_is_raised_ends_a_range() -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    step = Step(torch.optim.SGD([weight], lr=0.1), ranges=True)
    loss = weight.square().sum()
    loss.backward()
    weight.grad = None
    with pytest.raises(StepError), profile(activities=[ProfilerActivity.CPU]) as seen, step:
        step.backward(loss)  # its graph is freed
    assert [event.name for event in seen.events() if event.name in NAMES] == ["zerograd.backward"]


def test_only_a_yes_or_a_no() -> None:
    with pytest.raises(StepError, match="ranges"):
        Step(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1), ranges="nvtx")  # type: ignore[arg-type]
