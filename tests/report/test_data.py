"""What the page reads: its pure parts by node, its text printable, its numbers JSON."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from report.traces import BACKWARD, BAD, CLEAR, GOOD, STALE, STEP, stale, trace
from zerograd.core.findings import Certainty
from zerograd.report.data import data
from zerograd.report.phrasing import phrased
from zerograd.report.story import Story
from zerograd.report.walk import processes


def story(*paths: Path, rows: int = 120_000) -> Story:
    return Story(processes(paths), rows=rows)


def test_the_pages_pure_parts() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here to run tests/report/model.test.mjs with")
    tests = Path(__file__).with_name("model.test.mjs")
    done = subprocess.run([node, "--test", str(tests)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_it_is_json_of_plain_numbers(tmp_path: Path) -> None:
    odd = BACKWARD._replace(numbers=(("norm", float("nan")), ("loss", float("inf"))))
    told = data(story(trace(tmp_path / "run.jsonl", [odd, STEP, CLEAR] * 3)))
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_fates(tmp_path: Path) -> None:
    sets = [[0], [1]]
    events = [(BACKWARD, 0), (BACKWARD, 1), (CLEAR, 1), STEP, (CLEAR, 0)]
    (lane,) = data(story(trace(tmp_path / "run.jsonl", events * 4, sets=sets)))["lanes"]  # type: ignore[misc]
    assert {part["names"][0]: part["fate"] for part in lane["parts"]} == {
        "0.weight": "",
        "0.bias": "always loses its gradient",
        "head.weight": "never gets a gradient",
    }


def test_bundles_hold_every_event(tmp_path: Path) -> None:
    told = story(trace(tmp_path / "run.jsonl", GOOD * 4000), rows=2000)
    (rows,) = told.rows
    columns = rows.columns()
    assert sum(columns["count"]) == 16_000  # type: ignore[arg-type]
    assert len(columns["shape"]) < 5000  # type: ignore[arg-type]
    assert rows.row_at(0) == 0
    assert rows.row_at(15_999) == len(rows.row) - 1


def test_findings_are_judged_where_the_run_has_judged_nobody(tmp_path: Path) -> None:
    path = trace(tmp_path / "run.jsonl", [event._replace(numbers=()) for event in BAD] * 3, findings=False)
    (told,) = story(path).told
    assert (told.finding.code, told.times) == ("ZG001", {0: 2})


def test_a_finding_that_becomes_certain_is_one(tmp_path: Path) -> None:
    maybe = STALE._replace(certainty=Certainty.POSSIBLE, message="maybe")
    path = trace(tmp_path / "run.jsonl", BAD * 4, found=[(maybe, [5]), (STALE, [8, 11])])
    (told,) = story(path).told
    assert (told.finding.message, told.finding.fails) == (STALE.message, True)
    assert (told.times, told.rows) == ({0: 3}, [(0, 5), (0, 8), (0, 11)])


def test_findings_of_ranks_are_one(tmp_path: Path) -> None:
    told = story(stale(tmp_path / "a.jsonl", 4, rank=0), stale(tmp_path / "b.jsonl", 3, rank=1)).told
    assert [(one.finding.code, one.times) for one in told] == [("ZG001", {0: 3, 1: 2})]
    assert told[0].finding == phrased(STALE, None)._replace(times=0)
