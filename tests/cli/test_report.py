"""zerograd report: forms, places and mistakes."""

import json
from pathlib import Path

import pytest

from report.traces import stale
from zerograd.cli import main


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "traces").mkdir()
    stale(tmp_path / "traces" / "rank0-1.jsonl", 3)
    (tmp_path / "traces" / "other.jsonl").write_text("not ours\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "begins"),
    [("out.html", "<!doctype html>"), ("out.json", "{"), ("out.csv", "process,"), ("out.md", "## zerograd")],
)
def test_the_name_chooses_the_form(here: Path, file: str, begins: str) -> None:
    assert main(["report", "traces", "-o", file]) == 0
    assert (here / file).read_text().startswith(begins)


def test_the_page_is_the_default(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "traces/rank0-1.jsonl"]) == 0
    assert (here / "report.html").exists()
    assert capsys.readouterr().err == "zerograd: report in report.html\n"


def test_markdown_goes_to_the_step_summary(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "summary.md").write_text("# what was there\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "summary.md"))
    assert main(["report", "traces", "--output-format", "markdown"]) == 0
    assert (here / "summary.md").read_text().startswith("# what was there\n## zerograd")


def test_markdown_goes_to_standard_output_otherwise(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "traces", "--output-format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("## zerograd")


def test_perfetto(here: Path) -> None:
    assert main(["report", "traces", "--output-format", "perfetto", "-o", "p.json"]) == 0
    assert json.loads((here / "p.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no trace 'nowhere'"),
        (["."], "no trace in ."),
        (["traces/other.jsonl"], "is not a zerograd trace"),
        (["traces", "--output-format", "hmtl"], "Did you mean 'html'?"),
        (["traces", "-o", "no/such/folder/r.html"], "cannot be written"),
        (["traces", "-o", "x.txt"], "x.txt: no report has the ending '.txt'\n  Name it .html, "),
        (["traces", "--beside", "p.json"], "--beside goes with --output-format perfetto"),
    ],
)
def test_mistakes_exit_2_and_teach(
    here: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *arguments]) == 2
    assert said in capsys.readouterr().err
