"""What a run saw, as answers; and claims that it contradicts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from laws.reader.driver.probe import Moment, Seen
from laws.reader.oracle import Bounds, Claims, as_json, told, violations
from zerograd.core.events import Kind

ROOT = Path(__file__).parents[3]

# net = Net()  # 1: parameters 1 (head.weight) and 2 (body.weight)
# other = Net()  # 2: parameters 3 and 4
# optimizer = SGD(net.parameters())  # 3
SEEN = Seen(
    moments=(
        Moment(Kind.DEPOSIT, (5,), frozenset({1, 2, 3})),
        Moment(Kind.DEPOSIT, (5,), frozenset({1, 2})),
        Moment(Kind.CONSUME, (9, 6), frozenset({1, 2}), 7),
        Moment(Kind.CLEAR, (7,), frozenset({1, 2}), 7),
    ),
    names={
        1: frozenset({(1, 1, "head.weight")}),
        2: frozenset({(1, 1, "body.weight")}),
        3: frozenset({(2, 1, "head.weight")}),
        4: frozenset({(2, 1, "body.weight")}),
    },
    optimizers={7: 3},
    live={(4, "loss"): frozenset({True}), (4, "total"): frozenset({True, False})},
    bent=0,
    stopped_by=(),
)
NET, OTHER, HEAD = (1, ""), (2, ""), (2, "head")


def bounds(*sure: tuple[int, str], may: tuple[tuple[int, str], ...] | None = None) -> Bounds:
    return Bounds(frozenset(sure), None if may is None else frozenset(may))


def test_what_a_run_tells() -> None:
    run = told(SEEN)
    assert run.held == {9: [frozenset({1, 2})]}
    assert run.window == {9: [{Kind.DEPOSIT: 2}]}
    assert run.regions[NET] == [frozenset({1, 2})]
    assert run.regions[HEAD] == [frozenset({3})]
    assert run.answers == {"held": 1, "reached": 1, "cleared": 1, "live": 2, "window": 1}
    assert json.dumps(as_json(run))


@pytest.mark.parametrize(
    "claims",
    [
        Claims(held={9: bounds(NET, may=(NET, OTHER))}),
        Claims(reached={5: bounds(NET, may=(NET, HEAD))}),
        Claims(cleared={7: bounds()}),
        Claims(held={100: bounds(OTHER)}),
        Claims(live={(4, "loss"): True}),
        Claims(window={9: {Kind.DEPOSIT: (1, 2), Kind.CLIP: (0, None)}}),
    ],
)
def test_a_true_claim_is_not_contradicted(claims: Claims) -> None:
    assert list(violations(told(SEEN), claims)) == []


@pytest.mark.parametrize(
    ("claims", "question"),
    [
        (Claims(held={9: bounds(OTHER)}), "held"),
        (Claims(reached={5: bounds(HEAD)}), "reached"),
        (Claims(reached={5: bounds(may=(NET,))}), "reached"),
        (Claims(cleared={7: bounds(may=(OTHER,))}), "cleared"),
        (Claims(live={(4, "loss"): False}), "live"),
        (Claims(live={(4, "total"): True}), "live"),
        (Claims(window={9: {Kind.DEPOSIT: (1, 1)}}), "window"),
    ],
)
def test_a_false_claim_is(claims: Claims, question: str) -> None:
    assert {one.question for one in violations(told(SEEN), claims)} == {question}


def test_case_programs_run_and_rewrites_keep_what_they_do(tmp_path: Path) -> None:
    """A sample, in a process of its own: torch is changed for good, and forks want no threads."""
    record = tmp_path / "runs.jsonl"
    command = [sys.executable, "-m", "laws.reader", "oracle", "meaning", "--every", "110", "--record", str(record)]
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")])
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = [json.loads(line) for line in record.read_text().splitlines()]
    assert len(runs) >= 11, done.stdout  # of 14: about 80%
    assert all(run["held"] or run["reached"] for run in runs)
    assert "0 of them do something else" in done.stdout
