"""zerograd diff: what changed between two runs, in every form, and what a program can conclude from its status."""

import json
from pathlib import Path

import pytest

from report.traces import BACKWARD, CLEAR, GOOD, STEP, stale, trace
from zerograd.cli import main

ONCE = "SGD.step() at train.py:7 uses old gradients"


@pytest.fixture(autouse=True)
def _runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("wrong", "right"):
        Path(folder).mkdir()
    stale(Path("wrong/rank0-1.jsonl"), 6)
    trace(Path("right/rank0-1.jsonl"), GOOD * 6)


def said(capsys: pytest.CaptureFixture[str], *words: str, status: int) -> str:
    assert main(["diff", *words]) == status
    return capsys.readouterr().out


def test_a_fault_that_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "wrong", "right", status=0)
    assert told.splitlines() == [
        "A wrong: SGD.step() at train.py:7 uses old gradients.",
        "B right: Every gradient accounted for: 6 steps, each used the gradients computed for it.",
        "",
        "gone:",
        "  ZG001 at train.py:7: SGD.step() uses old gradients; 5 times",
        "",
        "SGD#0 at train.py:7:",
        "  steps                   6 in both",
        "  clears                  0, now 6",
        "  steps on old gradients  5, now 0",
        "  loss                    the same in 6 steps of both",
        "  gradient norm           the same in 6 steps of both",
        "  micro-batches           the same in 6 steps of both",
    ]


def test_a_fault_that_came_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\nnew:\n  ZG001 at train.py:7: " in said(capsys, "right", "wrong", status=1)


def test_a_run_beside_itself(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "wrong", "wrong", status=0)
    assert "\nstill there:\n  ZG001 at train.py:7: SGD.step() uses old gradients; 5 times\n" in told
    assert "now" not in told


def test_the_step_at_which_losses_part(capsys: pytest.CaptureFixture[str]) -> None:
    other = BACKWARD._replace(numbers=(("loss", 3.5),))
    Path("other").mkdir()
    trace(Path("other/rank0-1.jsonl"), [*GOOD * 3, CLEAR, other, STEP, *GOOD])
    told = said(capsys, "right", "other", status=0)
    assert "  loss           parts at step 4: 2 and 3.5; at the end 2 and 2\n" in told
    assert "  steps          6, now 5\n" in told


def test_reports_that_were_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "wrong", "-o", "wrong.json"]) == 0
    kept = said(capsys, "wrong.json", "right", status=0)
    assert kept.replace("wrong.json", "wrong") == said(capsys, "wrong", "right", status=0)


def test_forms(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "right", "wrong", "--output-format", "json", status=1))
    assert list(found) == ["version", "runs", "worse", "findings", "optimizers", "alone"]
    assert (found["worse"], found["findings"][0]["change"]) == (True, "new")
    assert said(capsys, "right", "wrong", "--output-format", "markdown", status=1).startswith("## zerograd diff\n")
    said(capsys, "right", "wrong", "--output-format", "html", "-o", "diff.html", status=1)
    assert "<li>ZG001 at train.py:7: " in Path("diff.html").read_text()


def test_what_a_run_says_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    Path("<b>").mkdir()
    trace(Path("<b>/rank0-1.jsonl"), GOOD, slot="<script>#0")
    page = said(capsys, "<b>", "<b>", "--output-format", "html", status=0)
    assert "<script" not in page
    assert "<b><b>" not in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["right"], "required: B"),
        (["right", "nowhere"], "no trace 'nowhere'"),
        (["right", "none.json"], "no report 'none.json'"),
        (["right", "list.json"], "list.json: is no report of this zerograd"),
        (["right", "wrong", "-o", "no/such/file"], "cannot be written"),
    ],
)
def test_mistakes_exit_2(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("list.json").write_text("[]")
    assert main(["diff", *words]) == 2
    assert told in capsys.readouterr().err
