"""The one sentence."""

from pathlib import Path

import pytest

from report.traces import BACKWARD, BAD, CLEAR, GOOD, STALE, STEP, stale, trace
from zerograd.core.events import Event
from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.report.story import Story
from zerograd.report.verdict import Verdict, verdict
from zerograd.report.walk import processes

NOTE = STALE._replace(
    code="ZG102", name="dropped-tail", message="the last group is never stepped", severity=Severity.NOTE
)
IDIOM = STALE._replace(code="ZG103", name="uneven-groups", message="the first group has 1; more")


@pytest.mark.parametrize(
    ("events", "found", "expected"),
    [
        (GOOD * 2, [], Verdict("good", "Every gradient accounted for: 2 steps, each with what was deposited for it.")),
        ([CLEAR], [], Verdict("none", "No optimizer stepped in this trace, so nothing was consumed.")),
        (
            [*GOOD, CLEAR, BACKWARD, CLEAR, BACKWARD, STEP],
            [(NOTE, [7])],
            Verdict(
                "note",
                "No step used a wrong gradient, but the last group is never stepped (1 of 3 backwards).",
            ),
        ),
        (
            BAD * 2,
            [(IDIOM._replace(certainty=Certainty.POSSIBLE), [2])],
            Verdict("note", "Nothing is certain in 2 steps: 1 possible fault below."),
        ),
        (BAD * 2, [(IDIOM, [2])], Verdict("bad", "The first group has 1.")),
        (
            BAD * 3,
            [(STALE, [5, 8]), (IDIOM, [2])],
            Verdict(
                "bad",
                "2 of 3 steps of SGD used gradients that an earlier step had already used.",
                "Also: ZG103 uneven-groups.",
            ),
        ),
    ],
    ids=["good", "none", "note", "possible", "idiom", "stale"],
)
def test_the_sentence(
    tmp_path: Path, events: list[Event], found: list[tuple[Finding, list[int]]], expected: Verdict
) -> None:
    assert verdict(Story(processes([trace(tmp_path / "run.jsonl", events, found=found)]))) == expected


def test_of_one_rank_of_two(tmp_path: Path) -> None:
    good = trace(tmp_path / "a.jsonl", GOOD * 3, rank=0)
    told = verdict(Story(processes([good, stale(tmp_path / "b.jsonl", 3, rank=1)])))
    assert told.sentence.startswith("2 of 3 steps of SGD on rank 1 used gradients")
