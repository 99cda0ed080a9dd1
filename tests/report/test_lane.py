"""What each step consumed, told from the events alone."""

from pathlib import Path

import pytest

from report.traces import BACKWARD, CLEAR, CLIP, SKIP, STEP, trace
from zerograd.core.events import Event, Kind, Site
from zerograd.core.machine import Content
from zerograd.report.lane import Step
from zerograd.report.walk import Process, processes


def walked(path: Path, events: list[Event], **more: object) -> tuple[Process, list[Step]]:
    (process,) = processes([trace(path, events, **more)])  # type: ignore[arg-type]
    return process, [moment.step for moment in process.walk() if moment.step is not None]


def test_stale_deposits_are_counted(tmp_path: Path) -> None:
    _, steps = walked(tmp_path / "t.jsonl", [BACKWARD, STEP, BACKWARD, BACKWARD, STEP, CLEAR, BACKWARD, STEP])
    assert [(step.content, step.micro_batches, step.stale) for step in steps] == [
        (Content.FRESH, 1, 0),
        (Content.MIXED, 2, 1),
        (Content.FRESH, 1, 0),
    ]
    assert steps[1].stale_share == pytest.approx(1 / 3)


def test_numbers_of_a_step(tmp_path: Path) -> None:
    _, steps = walked(tmp_path / "t.jsonl", [CLEAR, BACKWARD, CLIP, STEP] * 2)
    known = steps[1].numbers
    assert {name: known[name] for name in ("loss", "norm", "clipped", "backward", "step")} == {
        "loss": 2.0,
        "norm": 4.0,
        "clipped": 1.0,
        "backward": 0.25,
        "step": 0.125,
    }


def test_scaled_numbers_are_told_without_the_scale(tmp_path: Path) -> None:
    scaled = BACKWARD._replace(scaled=True, numbers=(("norm", 2048.0), ("loss", 512.0)))
    process, steps = walked(tmp_path / "t.jsonl", [scaled, SKIP])
    assert steps[0].numbers["norm"] == 2.0
    assert steps[0].numbers["loss"] == 0.5
    assert steps[0].skipped
    assert process.lanes["SGD#0"].skips == 1


def test_what_is_cleared_unread_is_lost(tmp_path: Path) -> None:
    process, _ = walked(tmp_path / "t.jsonl", [BACKWARD, STEP, CLEAR, BACKWARD, BACKWARD, CLEAR, BACKWARD, STEP])
    assert process.lanes["SGD#0"].lost == 2


def test_a_correction_is_no_micro_batch(tmp_path: Path) -> None:
    again = BACKWARD._replace(numbers=(("again", 1.0),))
    _, steps = walked(tmp_path / "t.jsonl", [BACKWARD, CLEAR, again, STEP])
    assert steps[0].content is Content.FRESH
    assert steps[0].micro_batches == 0


def test_numbers_that_came_late(tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", [BACKWARD._replace(numbers=()), STEP])
    with open(path, "a") as file:
        file.write('{"of":0,"numbers":{"loss":3.5}}\n')
    (process,) = processes([path])
    assert [moment.step.numbers["loss"] for moment in process.walk() if moment.step] == [3.5]


def test_more_kinds_of_parameters_than_are_told_apart(tmp_path: Path) -> None:
    names = [[str(number) for number in range(600)]]
    sets = [[number] for number in range(600)]
    events = [(BACKWARD, number) for number in range(600)]
    process, _ = walked(tmp_path / "t.jsonl", [*events, STEP], groups=names, sets=sets)  # type: ignore[list-item]
    parts = process.lanes["SGD#0"].parts
    assert len(parts) == 256
    assert sum(len(part.members) for part in parts) == 600


def test_an_event_of_nobody(tmp_path: Path) -> None:
    process, _ = walked(tmp_path / "t.jsonl", [Event(Kind.CLEAR, None, Site("a.py", 1))])
    assert list(process.lanes) == ["an optimizer"]


def test_what_a_skipped_step_was_offered_is_refused(tmp_path: Path) -> None:
    (process,) = processes([trace(tmp_path / "t.jsonl", [BACKWARD, SKIP, CLEAR, BACKWARD, STEP])])
    held = [moment.lane.held for moment in process.walk()]
    assert held == ["fresh", "refused", "empty", "fresh", "spent"]


def test_what_a_step_gives_up_on_purpose_is_not_lost(tmp_path: Path) -> None:
    given_up = CLEAR._replace(what="rollback")
    (process,) = processes([trace(tmp_path / "t.jsonl", [BACKWARD, given_up, BACKWARD, CLEAR, BACKWARD])])
    assert [moment.lane.held for moment in process.walk()] == ["fresh", "empty", "fresh", "lost", "fresh"]
    assert process.lanes["SGD#0"].lost == 1
    assert process.lanes["SGD#0"].unused == 2  # with what the trace ends with


def test_the_name_of_an_optimizer(tmp_path: Path) -> None:
    def title(number: int, called: str = "") -> str:
        (process,) = processes([trace(tmp_path / f"{number}.jsonl", [BACKWARD, STEP], called=called)])
        list(process.walk())
        return process.lanes["SGD#0"].title

    assert title(0, "opt_d") == "opt_d"
    assert title(1) == "SGD#0 at train.py:7"


def test_optimizers_that_a_loop_calls_alike_are_numbered(tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", [BACKWARD, STEP], called="opt")
    with open(path, "a") as file:
        file.write('{"optimizer":"Adam#1","groups":[["w"]],"called":"opt"}\n')
        file.write('{"kind":"consume","slot":"Adam#1"}\n')
    (process,) = processes([path])
    list(process.walk())
    assert [lane.title for lane in process.lanes.values()] == ["opt #0", "opt #1"]
