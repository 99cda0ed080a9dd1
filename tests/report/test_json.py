"""The contract of docs/json.md: its fields are the fields, its example is what the command writes."""

import json
import re
from pathlib import Path

import pytest

from zerograd.cli import main
from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Edit, Finding, Fix, Related, Safety, Severity
from zerograd.report.json import as_object

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text()
FINDING = Finding(
    code="ZG001",
    name="stale-accumulation",
    message="m",
    site=Site("train.ipynb", 3, 5, 4, 6, cell=2),
    certainty=Certainty.POSSIBLE,
    severity=Severity.WARNING,
    related=(Related(Site("other.py", 1), "r"),),
    cure="c",
    fix=Fix("f", (Edit(3, 5, 3, 5, "t", cell=2),), Safety.SAFE),
)


def test_every_field() -> None:
    assert as_object(FINDING) == {
        "code": "ZG001",
        "name": "stale-accumulation",
        "message": "m",
        "path": "train.ipynb",
        "cell": 2,
        "line": 3,
        "column": 5,
        "end_line": 4,
        "end_column": 6,
        "certainty": "possible",
        "severity": "warning",
        "cure": "c",
        "fix": {
            "message": "f",
            "safety": "safe",
            "edits": [{"line": 3, "column": 5, "end_line": 3, "end_column": 5, "text": "t", "cell": 2}],
        },
        "related": [{"path": "other.py", "cell": None, "line": 1, "column": 1, "message": "r"}],
    }


def test_the_page_tells_every_field_and_its_type() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| (\w+)(?: or null)? \|", PAGE, re.M))
    types = {str: "string", int: "integer", list: "list", dict: "object"}
    assert told == {field: types[type(value)] for field, value in as_object(FINDING).items()}


def test_the_values_that_stay() -> None:
    assert [certainty.value for certainty in Certainty] == ["certain", "possible"]
    assert [severity.value for severity in Severity] == ["error", "warning", "note"]


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    program, answer = re.findall(r"^```(?:text|json)\n(.*?)^```", PAGE, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(program)
    assert main(["check", "train.py", "--output-format", "json"]) == 1
    assert capsys.readouterr().out == answer


def test_no_finding_is_the_empty_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import torch\n")
    assert main(["check", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
