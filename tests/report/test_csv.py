"""Every step is a row, and no cell is a formula."""

import csv
from pathlib import Path

from report.traces import BAD, stale, trace
from zerograd.report.csv import COLUMNS, steps_csv
from zerograd.report.walk import processes


def test_a_row_for_every_step(tmp_path: Path) -> None:
    rows = list(csv.DictReader(steps_csv(processes([stale(tmp_path / "run.jsonl", 3, pid=7)])).splitlines()))
    assert tuple(rows[0]) == COLUMNS
    assert [row["stale_share"] for row in rows] == ["0", "0.5", "0.6667"]
    assert (rows[1]["process"], rows[1]["optimizer"], rows[1]["content"]) == ("process 7", "SGD#0", "mixed")
    assert (rows[1]["path"], rows[1]["line"], rows[1]["clipped"]) == ("train.py", "7", "1.0")


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    evil = "=cmd|' /C calc'!A1"
    text = steps_csv(processes([trace(tmp_path / "run.jsonl", [event._replace(slot=evil) for event in BAD])]))
    assert next(csv.DictReader(text.splitlines()))["optimizer"] == f"'{evil}"
