"""Programs whose gradients only a run can follow: written by hand, replaced, stepped in threads and inside hooks."""

import subprocess
import sys
import warnings

import pytest
import torch
from torch import nn

import zerograd
from rules.programs import Program, audited, programs


@pytest.mark.parametrize(
    "program",
    [*programs("legal_run.md"), *programs("styles.md"), *programs("faults_run.md")],
    ids=lambda program: program.name,
)
def test_programs(program: Program) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about the loops we wrote to be odd
        assert audited(program) == program.expected_in_run


TWO_THREADS = """
import threading, torch, zerograd
from torch import nn
torch.set_num_threads(1)
def train(clear):
    model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(20)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(100):
        if clear:
            optimizer.zero_grad()
        model(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()
with zerograd.audit(on_finding="collect") as watch:
    threads = [threading.Thread(target=train, args=(clear,)) for clear in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(watch.counts(), [(finding.code, finding.times) for finding in watch.findings])
"""


def test_two_threads_train_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", TWO_THREADS], capture_output=True, text=True)
    # Reading a gradient that another thread's backward writes would be a segfault; an error ends a thread, and is told.
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 error; 200 steps, 200 backwards, 80 slots audited [('ZG001', 99)]\n"


def _parts() -> tuple[nn.Parameter, torch.optim.Optimizer]:
    weight = nn.Parameter(torch.ones(3))
    return weight, torch.optim.SGD([weight], lr=0.1)


def _said(watch) -> list[str]:
    """What each finding says, beside the lines that made and cleared the gradients."""
    found = [finding for finding in watch.findings if finding.fails]
    return [f"{one.message}; {[place.site.line for place in one.related if place.site != one.site]}" for one in found]


def _lost(name: str, *lines: int) -> str:
    return f"{name}.step() finds no gradients: they were cleared too early; {list(lines)}"


def _line(offset: int) -> int:
    return sys._getframe(1).f_lineno + offset


def test_the_clear_that_is_blamed_is_the_one_that_cleared() -> None:
    weight, optimizer = _parts()
    other, another = _parts()
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            (weight.sum() + other.sum()).backward()
            here = _line(1)
            optimizer.zero_grad()
            another.step()
            another.zero_grad()
            optimizer.step()
    assert _said(watch) == [_lost("optimizer", here - 2, here)]


def test_a_clear_by_none_has_no_line() -> None:
    weight, optimizer = _parts()
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            optimizer.zero_grad()
            here = _line(1)
            weight.sum().backward()
            weight.grad = None
            optimizer.step()
    assert _said(watch) == [_lost("optimizer", here)]


def test_a_clear_by_the_optimizer_that_shares_the_parameters_has_its_line() -> None:
    weight = nn.Parameter(torch.ones(3))
    first, second = torch.optim.SGD([weight], lr=0.1), torch.optim.Adam([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for set_to_none in (True, False, False):
            weight.sum().backward()
            first.step()
            here = _line(1)
            first.zero_grad(set_to_none=set_to_none)
            second.step()
    assert _said(watch) == [_lost("second", here - 3, here)]


def test_a_clear_by_a_module_that_does_not_hold_the_parameter_is_not_blamed() -> None:
    weight, optimizer = _parts()
    stranger = nn.Linear(2, 2)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            here = _line(1)
            weight.sum().backward()
            weight.grad = None
            stranger.zero_grad()
            optimizer.step()
    assert _said(watch) == [_lost("optimizer", here)]


def test_a_clear_by_an_optimizer_that_never_steps_has_its_line() -> None:
    weight, optimizer = _parts()
    wrapper = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            weight.sum().backward()
            here = _line(1)
            wrapper.zero_grad()
            optimizer.step()
    assert _said(watch) == [_lost("optimizer", here - 2, here)]


CERTAIN_WHEN = {
    "the first time it may be meant": (["starve"], []),
    "twice in a row it is the loop": (["starve", "starve"], ["ZG003"]),
    "not when something came in between": (["starve", "feed", "starve", "feed", "starve"], []),
    "not when another optimizer is fed": (["starve", "other", "starve", "other", "starve"], []),
}


@pytest.mark.parametrize(("acts", "codes"), CERTAIN_WHEN.values(), ids=CERTAIN_WHEN)
def test_a_step_that_starves(acts: list[str], codes: list[str]) -> None:
    weight, optimizer = _parts()
    other, another = _parts()
    with zerograd.audit(on_finding="collect") as watch:
        for act in ["feed", "other", *acts]:
            optimizer.zero_grad()
            if act == "feed":
                weight.sum().backward()
            if act == "other":
                another.zero_grad()
                other.sum().backward()
                another.step()
            else:
                optimizer.step()
    assert [finding.code for finding in watch.findings if finding.certainty.value == "certain"] == codes
