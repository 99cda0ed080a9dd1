"""A loop that does the same over and over is watched by its guards; whatever is not as always is judged as always."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

import zerograd
from zerograd.core.events import Event, Kind
from zerograd.core.findings import Certainty
from zerograd.run.audit import Mode
from zerograd.run.routine import Routine

USUAL = 60  # rounds: more than a loop needs to prove itself
Parts = tuple[nn.Module, torch.optim.Optimizer]


def _made() -> Parts:
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(3, 3) for _ in range(12)])
    return model, torch.optim.SGD(model.parameters(), lr=1e-3)


def _round(
    model: nn.Module, optimizer: torch.optim.Optimizer, *, clear: bool = True, before: Callable[[], object] = int,
    between: Callable[[], object] = int, micro: int = 1, steps: int = 1,
) -> None:  # fmt: skip
    if clear:
        optimizer.zero_grad()
    before()
    for _ in range(micro):
        model(torch.ones(2, 3)).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    between()
    for _ in range(steps):
        optimizer.step()


@pytest.fixture
def ticked(monkeypatch: pytest.MonkeyPatch) -> list[Kind]:
    """What was ticked off and not looked at as always."""
    kinds: list[Kind] = []
    real = Routine.passes

    def passes(self: Routine, kind: Kind, site: object) -> Event | None:
        event = real(self, kind, site)  # type: ignore[arg-type]
        kinds.extend([kind] if event is not None else [])
        return event

    monkeypatch.setattr(Routine, "passes", passes)
    return kinds


def _certain(watch) -> list[str]:
    return [finding.code for finding in watch.findings if finding.certainty is Certainty.CERTAIN]


@pytest.mark.parametrize(("micro", "mode"), [(1, "lean"), (3, "lean"), (1, "full")])
def test_a_routine_is_counted_and_silent(ticked: list[Kind], micro: int, mode: Mode) -> None:
    model, optimizer = _made()
    with zerograd.audit(on_finding="collect", mode=mode) as watch:
        for _ in range(USUAL):
            _round(model, optimizer, micro=micro)
    assert len(ticked) > 10 * (3 + micro)
    assert watch.counts() == (
        f"every gradient accounted for; {USUAL} steps, {USUAL * micro} backwards, 24 slots audited"
    )


def test_full_mode_compares_the_losses_of_every_window(ticked: list[Kind]) -> None:
    model, optimizer = _made()
    with zerograd.audit(on_finding="collect", mode="full"):
        for _ in range(USUAL):
            _round(model, optimizer, micro=3)
    assert not ticked


def test_windows_that_come_behind_a_routine_are_compared(ticked: list[Kind]) -> None:
    model, optimizer = _made()
    with zerograd.audit(on_finding="collect", mode="full") as watch:
        for number in range(2 * USUAL):
            optimizer.zero_grad()
            for _ in range(1 if number < USUAL else 3):
                torch.nn.functional.mse_loss(model(torch.ones(2, 3)), torch.ones(2, 3)).backward()
            optimizer.step()
    assert len(ticked) > 20
    assert "ZG101" in {finding.code for finding in watch.findings}


def test_a_trace_tells_of_every_step(ticked: list[Kind]) -> None:
    model, optimizer = _made()
    events: list[Event] = []
    with zerograd.audit(on_finding="collect", trace=events.append):
        for _ in range(USUAL):
            _round(model, optimizer, micro=3)
    kinds = [event.kind for event in events]
    assert kinds.count(Kind.CONSUME) == USUAL
    assert kinds.count(Kind.DEPOSIT) == USUAL * 3
    assert {event.slot for event in events} == {"SGD#0"}
    assert not ticked


FAULTS: dict[str, tuple[Callable[[nn.Module], dict[str, object]], str]] = {
    "no clear": (lambda model: {"clear": False}, "ZG001"),
    "cleared behind the backward": (lambda model: {"between": model.zero_grad}, "ZG002"),
    "cleared by hand behind the backward": (lambda model: {"between": lambda: _erase(model)}, "ZG002"),
    "stepped twice": (lambda model: {"steps": 2}, "ZG004"),
    "no backward": (lambda model: {"micro": 0}, "ZG003"),
}


def _erase(model: nn.Module) -> None:
    for parameter in model.parameters():
        parameter.grad = None


@pytest.mark.parametrize("mode", ["lean", "full"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_begins_late_is_found(ticked: list[Kind], fault: str, mode: Mode) -> None:
    options, code = FAULTS[fault]
    model, optimizer = _made()
    with zerograd.audit(on_finding="collect", mode=mode) as watch:
        for _ in range(USUAL):
            _round(model, optimizer)
        assert len(ticked) > 20
        for _ in range(2 * USUAL):
            _round(model, optimizer, **options(model))  # type: ignore[arg-type]
    assert _certain(watch) == [code]


def _probe(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    model(torch.ones(2, 3)).sum().backward()
    optimizer.zero_grad()


LEGAL: dict[str, Callable[[nn.Module, torch.optim.Optimizer], object]] = {
    "more micro-batches": lambda model, optimizer: _round(model, optimizer, micro=2),
    "a probe": lambda model, optimizer: _round(model, optimizer, before=lambda: _probe(model, optimizer)),
    "a skipped batch": lambda model, optimizer: _round(model, optimizer, steps=0),
    "zeroed by hand": lambda model, optimizer: _round(model, optimizer, clear=False, before=lambda: _erase(model)),
    "halved by hand": lambda model, optimizer: _round(
        model, optimizer, between=lambda: [parameter.grad.div_(2) for parameter in model.parameters()]
    ),
    "another optimizer": lambda model, optimizer: _round(*_made()),
    "through the module": lambda model, optimizer: _round(model, optimizer, before=model.zero_grad),
    "new parameters": lambda model, optimizer: optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))]}),
    "frozen": lambda model, optimizer: model[:6].requires_grad_(False),
}


@pytest.mark.parametrize("mode", ["lean", "full"])
@pytest.mark.parametrize("change", LEGAL)
def test_what_is_legal_stays_so(ticked: list[Kind], change: str, mode: Mode) -> None:
    model, optimizer = _made()
    with zerograd.audit(on_finding="collect", mode=mode) as watch:
        for _ in range(3):
            for _ in range(USUAL):
                _round(model, optimizer)
            for _ in range(2):
                LEGAL[change](model, optimizer)
    assert len(ticked) > 20
    assert _certain(watch) == []


def test_a_backward_that_raises_ends_it(ticked: list[Kind]) -> None:
    model, optimizer = _made()
    with zerograd.audit(on_finding="collect") as watch:
        for _ in range(USUAL):
            _round(model, optimizer)
        with pytest.raises(RuntimeError):
            loss = model(torch.ones(2, 3)).sum()
            optimizer.zero_grad()
            loss.backward()
            loss.backward()
        for _ in range(3):
            _round(model, optimizer)
    assert _certain(watch) == []
