"""A replayed CUDA graph runs no hook of torch: it is a step of the audit if it is announced, and never clean if not."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim import Optimizer

import zerograd
from zerograd.core.events import Event, Kind
from zerograd.run.audit import Audit
from zerograd.run.sites import shown
from zerograd.trace.announcing import announced

CLEAR, DEPOSIT, CONSUME = (Event(kind, what="update()") for kind in (Kind.CLEAR, Kind.DEPOSIT, Kind.CONSUME))
STEP = (CLEAR, DEPOSIT, DEPOSIT, CONSUME)


class Graph:
    """As torch.cuda.CUDAGraph where there is a GPU: a replay writes gradients and weights, and moves no version."""

    def __init__(self, weight: nn.Parameter) -> None:
        self._weight = weight

    def capture_begin(self) -> None:
        pass

    def capture_end(self) -> None:
        pass

    def replay(self) -> None:
        if self._weight.grad is None:
            self._weight.grad = torch.zeros_like(self._weight)
        self._weight.grad.data.fill_(0.5)
        self._weight.data.sub_(0.05)


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> type[Graph]:
    fake = type("Graph", (Graph,), dict(vars(Graph)))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", fake)
    return fake


@pytest.fixture
def parts() -> tuple[nn.Parameter, Optimizer]:
    weight = nn.Parameter(torch.ones(3))
    return weight, torch.optim.SGD([weight], lr=0.1)


def _eager(weight: nn.Parameter, optimizer: Optimizer, *, clear: bool = True) -> None:
    if clear:
        optimizer.zero_grad()
    weight.square().sum().backward()
    optimizer.step()


def _codes(watch: Audit) -> list[str]:
    return [finding.code for finding in watch.findings if finding.fails]


@pytest.mark.parametrize("sample", [1, 3])
def test_an_announced_replay_is_one_known_step(graphs: type[Graph], parts, sample: int) -> None:
    weight, optimizer = parts
    events: list[Event] = []
    with zerograd.audit(on_finding="collect", sample=sample, trace=events.append) as watch:
        graph = graphs(weight)
        for _ in range(2):
            for _ in range(5):
                with announced([optimizer], STEP):
                    graph.replay()
            for _ in range(5):
                _eager(weight, optimizer)
    assert not watch.findings
    assert ("; 20 steps, 30" if sample == 1 else "; 17 of 20 steps audited, 30") in watch.counts()
    assert "CUDA" not in watch.counts()
    assert [event.kind for event in events[:4]] == [Kind.CLEAR, Kind.DEPOSIT, Kind.DEPOSIT, Kind.CONSUME]
    assert {event.site.path for event in events if event.site} == {shown(__file__)}


def test_what_a_replay_leaves_is_known(graphs: type[Graph], parts) -> None:
    weight, optimizer = parts
    graph = graphs(weight)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            with announced([optimizer], STEP):
                graph.replay()  # it leaves its gradient where it lies
            _eager(weight, optimizer, clear=False)
    assert _codes(watch) == ["ZG001"]


def test_what_a_replay_adds_to_is_known(graphs: type[Graph], parts) -> None:
    weight, optimizer = parts
    graph = graphs(weight)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            with announced([optimizer], (DEPOSIT, CONSUME)):
                graph.replay()
    assert [(finding.code, finding.times) for finding in watch.findings] == [("ZG001", 2)]


def test_a_rehearsal_is_no_part_of_the_training(graphs: type[Graph], parts) -> None:
    weight, optimizer = parts
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            _eager(weight, optimizer)
            with announced([optimizer], ()):
                for _ in range(3):  # nothing here is right
                    scaler.scale(weight.square().sum()).backward()
                    nn.utils.clip_grad_norm_([weight], 1.0)
                    scaler.unscale_(optimizer)
                    scaler.step(optimizer)
                    scaler.update()
                    schedule.step()
                optimizer.zero_grad()
    assert not watch.findings
    assert "3 steps, 3 backwards" in watch.counts()


def test_a_replay_that_raises_is_nobodys_step(graphs: type[Graph], parts) -> None:
    weight, optimizer = parts
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(3):
            _eager(weight, optimizer)
            with pytest.raises(RuntimeError, match="device"), announced([optimizer], STEP):
                weight.grad = torch.ones_like(weight)
                raise RuntimeError("device")
    assert not watch.findings
    assert "3 steps, 3 backwards" in watch.counts()


def _whole_step(weight: nn.Parameter, optimizer: Optimizer) -> None:
    weight.square().sum().backward()
    optimizer.step()


def _backward_only(weight: nn.Parameter, optimizer: Optimizer) -> None:
    weight.square().sum().backward()


@pytest.mark.parametrize(
    ("captured", "then", "why"),
    [
        (_whole_step, lambda optimizer: None, "replayed from a CUDA graph"),
        (_backward_only, lambda optimizer: optimizer.step(), "fed by a CUDA graph"),
    ],
)
def test_other_replays_are_counted_and_not_audited(
    graphs: type[Graph], parts, captured: Callable[..., None], then: Callable[[Optimizer], None], why: str
) -> None:
    weight, optimizer = parts
    with zerograd.audit(on_finding="collect") as watch:
        _eager(weight, optimizer)
        optimizer.zero_grad()
        graph = graphs(weight)
        graph.capture_begin()
        captured(weight, optimizer)
        graph.capture_end()
        for _ in range(6):
            graph.replay()
            then(optimizer)
    assert not watch.findings
    assert watch.counts() == f"nothing found in it; 1 of 7 steps audited, 7 backwards, 1 slot; 6 not audited: {why}"


def test_graphs_that_do_not_train_are_not_counted(graphs: type[Graph], parts) -> None:
    weight, optimizer = parts
    with zerograd.audit(on_finding="collect") as watch:
        graph = graphs(nn.Parameter(torch.ones(3)))
        graph.capture_begin()
        weight.square().sum()
        graph.capture_end()
        for _ in range(3):
            graph.replay()
            _eager(weight, optimizer)
    assert watch.counts() == "every gradient accounted for; 3 steps, 3 backwards, 1 slot audited"
