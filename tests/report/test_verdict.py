"""The one sentence."""

from pathlib import Path

import pytest

from report.traces import BACKWARD, BAD, CLEAR, GOOD, SKIP, STALE, STEP, stale, trace
from zerograd.core.events import Event
from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.report.story import Story
from zerograd.report.verdict import Verdict, verdict
from zerograd.report.walk import processes

NOTE = STALE._replace(
    code="ZG102",
    name="dropped-tail",
    message="the last group is never stepped",
    severity=Severity.NOTE,
    related=(),
    cure="step at the last one",
)
IDIOM = STALE._replace(code="ZG103", name="uneven-groups", message="the first group has 1; more")


@pytest.mark.parametrize(
    ("events", "found", "expected"),
    [
        (
            GOOD * 2,
            [],
            Verdict("good", "Every gradient accounted for: 2 steps, each used the gradients computed for it."),
        ),
        ([CLEAR], [], Verdict("none", "No optimizer stepped in this trace, so no gradients were used.")),
        (
            [*GOOD, CLEAR, BACKWARD, CLEAR, BACKWARD, STEP],
            [(NOTE, [7])],
            Verdict(
                "note",
                "1 of 3 backwards were never used: the last group is never stepped (train.py:7).",
                "step at the last one",
                "No step is known to have used wrong gradients (2 steps).",
            ),
        ),
        (
            BAD * 2,
            [(IDIOM, [2])],
            Verdict(
                "bad",
                "The first group has 1 (train.py:7).",
                "call SGD.zero_grad() right after SGD.step()",
                "Found in a run of 2 steps of SGD#0 at train.py:7.",
            ),
        ),
        (
            BAD * 3,
            [(STALE, [5, 8]), (IDIOM, [2]), (NOTE, [2])],
            Verdict(
                "bad",
                "SGD.step() at train.py:7 uses old gradients.",
                "call SGD.zero_grad() right after SGD.step()",
                "It happened in 2 of 3 steps of SGD#0 at train.py:7. In all: 2 errors, 1 note.",
            ),
        ),
        (
            GOOD * 2,
            [(STALE._replace(certainty=Certainty.POSSIBLE), [3])],
            Verdict(
                "possible",
                "Possible fault: SGD.step() at train.py:7 uses old gradients.",
                "call SGD.zero_grad() right after SGD.step()",
                "This run does not prove it: check whether it is intended. "
                "No step is known to have used wrong gradients (2 steps).",
            ),
        ),
        (
            [*GOOD, CLEAR, BACKWARD, SKIP],
            [],
            Verdict(
                "good",
                "Every gradient accounted for: 1 step used the gradients computed for it, 1 was skipped (not finite).",
            ),
        ),
    ],
    ids=["good", "none", "note", "idiom", "stale", "possible", "skip"],
)
def test_the_sentence(
    tmp_path: Path, events: list[Event], found: list[tuple[Finding, list[int]]], expected: Verdict
) -> None:
    assert verdict(Story(processes([trace(tmp_path / "run.jsonl", events, found=found)]))) == expected


def test_of_one_rank_of_two(tmp_path: Path) -> None:
    good = trace(tmp_path / "a.jsonl", GOOD * 3, rank=0)
    told = verdict(Story(processes([good, stale(tmp_path / "b.jsonl", 3, rank=1)])))
    assert told.also == "It happened in 2 of 3 steps of SGD#0 at train.py:7 on rank 1."


def test_a_run_that_was_audited_in_part(tmp_path: Path) -> None:
    path = trace(tmp_path / "run.jsonl", GOOD * 2)
    with path.open("a") as file:
        file.write('{"steps": 3, "unaudited": {"fed by a closure": 1}}\n')
        file.write('{"steps": 6, "unaudited": {"fed by a closure": 3, "inside a backward": 1}}\n')
    told = verdict(Story(processes([path])))
    assert told == Verdict(
        "part",
        "2 of 6 steps were audited, and nothing was found in them; "
        "4 not audited: 3 fed by a closure, 1 inside a backward.",
    )


def test_a_fault_in_a_run_that_was_audited_in_part(tmp_path: Path) -> None:
    path = stale(tmp_path / "run.jsonl", 3)
    with path.open("a") as file:
        file.write('{"steps": 4, "unaudited": {"fed by a closure": 1}}\n')
    told = verdict(Story(processes([path])))
    assert told.tone == "bad"
    assert told.also.endswith("3 of 4 steps were audited; 1 not audited: fed by a closure.")
