"""A trace holds what the run knew: every clear, clip and skip, whom it hit, what was found."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import zerograd
from zerograd.core.events import Event, Kind
from zerograd.report.walk import Process, processes
from zerograd.run.account import Account
from zerograd.run.books import Clock
from zerograd.run.chronicle import Chronicle
from zerograd.trace.lines import TraceWriter
from zerograd.trace.reading import Line


def traced(path: Path, loop: Callable[[], None], **options: object) -> tuple[Process, list[Line]]:
    with zerograd.audit(on_finding="collect", trace=path, **options):  # type: ignore[arg-type]
        loop()
    (process,) = processes([path])
    return process, list(process.trace.events())


def test_clears_of_modules_and_by_hand_are_there(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loop() -> None:
        for turn in range(4):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            if turn % 2:
                model.zero_grad()
            else:
                for parameter in model.parameters():
                    parameter.grad = None

    process, lines = traced(tmp_path / "t.jsonl", loop)
    kinds = [line.event.kind.value for line in lines]
    assert kinds == ["deposit", "consume", "clear"] * 4
    assert process.survey.found == []
    assert process.survey.groups == {"SGD#0": [["weight", "bias"]]}


def test_clips_skips_and_scales(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    def loop() -> None:
        for turn in range(3):
            optimizer.zero_grad()
            scaler.scale(model(torch.ones(1, 2)).sum() * (float("inf") if turn == 1 else 1.0)).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()

    _, lines = traced(tmp_path / "t.jsonl", loop, mode="full")
    steps = [dict(line.event.numbers) for line in lines if line.event.kind is Kind.CONSUME]
    assert [("skipped" in step, step["scale"]) for step in steps] == [(False, 4.0), (True, 4.0), (False, 2.0)]
    clips = [dict(line.event.numbers) for line in lines if line.event.kind is Kind.CLIP]
    assert [clip["limit"] for clip in clips] == [0.5] * len(clips)
    assert abs(clips[-1]["norm"] - 3**0.5) < 1e-5
    assert Kind.UNSCALE in [line.event.kind for line in lines]


def test_a_skip_inside_a_fused_kernel_is_a_skip(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    def loop() -> None:
        for turn in range(3):
            optimizer.zero_grad()
            scaler.scale(model(torch.ones(1, 2)).sum() * (float("inf") if turn == 1 else 1.0)).backward()
            scaler.step(optimizer)
            scaler.update()

    _, lines = traced(tmp_path / "t.jsonl", loop)
    steps = [dict(line.event.numbers) for line in lines if line.event.kind is Kind.CONSUME]
    assert ["skipped" in step for step in steps] == [False, True, False]


def test_a_skip_on_a_device_is_read_a_step_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = TraceWriter(tmp_path / "t.jsonl", about={"findings": True})
    chronicle = Chronicle(writer, full=True)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])
    tell = chronicle.opened(Account(optimizer, clock=Clock(), thread=0), optimizer)
    assert tell is not None
    found = iter([0.0, 1.0, 0.0])
    monkeypatch.setattr(torch.Tensor, "tolist", lambda tensor: [next(found)])
    for _ in range(3):
        optimizer.found_inf = torch.zeros((), device="meta")  # type: ignore[attr-defined]
        tell(None, chronicle.scaled(Event(Kind.CONSUME), None, optimizer))
        chronicle.ends(Kind.CONSUME)
    chronicle.finish()
    writer.close()
    (process,) = processes([tmp_path / "t.jsonl"])
    assert process.survey.late == {1: (("skipped", 1.0),)}


def test_an_optimizer_is_called_as_the_step_calls_it(tmp_path: Path) -> None:
    class Trainer:
        def __init__(self) -> None:
            model = torch.nn.Linear(2, 1)
            self.model, self.opts = model, {"d": torch.optim.SGD(model.parameters(), lr=0.1)}

    trainer, scaler = Trainer(), torch.amp.GradScaler("cpu", enabled=True)
    model = torch.nn.Linear(2, 1)
    opt_g, scaled = torch.optim.Adam(model.parameters()), torch.optim.SGD(trainer.model.parameters(), lr=0.1)

    def loop() -> None:
        (model(torch.ones(1, 2)) + trainer.model(torch.ones(1, 2))).sum().backward()
        _ = opt_g.step(), trainer.opts["d"].step()  # both on one line
        scaler.scale(trainer.model(torch.ones(1, 2)).sum()).backward()
        scaler.step(optimizer=scaled)

    process, _ = traced(tmp_path / "t.jsonl", loop)
    called = {(name.partition("#")[0], expression) for name, expression in process.survey.called.items()}
    assert called == {("SGD", "trainer.opts['d']"), ("Adam", "opt_g"), ("SGD", "scaled")}


def test_parameters_that_are_not_hit(tmp_path: Path) -> None:
    one, other = torch.nn.Linear(2, 1, bias=False), torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)

    def loop() -> None:
        for _ in range(3):
            one(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    process, lines = traced(tmp_path / "t.jsonl", loop)
    assert {line.hit for line in lines if line.event.kind is Kind.DEPOSIT} == {0}
    assert process.survey.sets[0] == {0}


def test_what_was_not_audited(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def loop() -> None:
        for _ in range(12):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()

    process, _ = traced(tmp_path / "t.jsonl", loop, sample=4)
    (coverage,) = process.survey.coverage
    assert coverage == (12, (("left out by sample", 6),))


def test_findings_know_their_events(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loop() -> None:
        for _ in range(4):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()

    process, lines = traced(tmp_path / "t.jsonl", loop)
    (found,) = process.survey.found
    assert (found.finding.code, list(found.events), found.slot) == ("ZG001", [3, 5, 7], "SGD#0")
    assert all(lines[event].event.kind is Kind.CONSUME for event in found.events)
    assert all("took" in dict(line.event.numbers) for line in lines[2:])


def test_a_function_hears_of_events_alone(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    heard: list[Kind] = []
    with zerograd.audit(trace=lambda event: heard.append(event.kind)):
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    assert heard == [Kind.CLEAR, Kind.DEPOSIT, Kind.CONSUME] * 2


def test_numbers_on_a_device_are_read_a_step_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = TraceWriter(tmp_path / "t.jsonl", about={"findings": True})
    chronicle = Chronicle(writer, full=True)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])
    account = Account(optimizer, clock=Clock(), thread=0)
    tell = chronicle.opened(account, optimizer)
    assert tell is not None
    read: list[int] = []
    monkeypatch.setattr(torch.Tensor, "tolist", lambda tensor: [float(read.append(len(read)) or len(read))])
    for _ in range(3):
        numbers = chronicle.measured("norm", torch.ones((), device="meta"))
        assert numbers == ()
        tell(None, Event(Kind.CONSUME, numbers=numbers))
        chronicle.ends(Kind.CONSUME)
    assert len(read) == 2  # of the last step nobody knows yet
    chronicle.finish()
    writer.close()
    (process,) = processes([tmp_path / "t.jsonl"])
    assert process.survey.late == {0: (("norm", 1.0),), 1: (("norm", 2.0),), 2: (("norm", 3.0),)}
