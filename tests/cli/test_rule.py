import json

import pytest

from zerograd.cli import main
from zerograd.rules import REGISTRY

FIELDS = {"code", "name", "severity", "message", "explanation", "bad", "good", "sees", "cure", "fix"}


def test_all_rules_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "--all", "--output-format", "json"]) == 0
    rules = json.loads(capsys.readouterr().out)
    assert [rule["code"] for rule in rules] == list(REGISTRY)
    for rule in rules:
        assert set(rule) == FIELDS
        assert all(rule[field] for field in FIELDS)


def test_a_page_by_code_prefix_or_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "ZG001"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("# ZG001 stale-accumulation\n\nError. Seen by `zerograd check` and `zerograd run`.")
    assert main(["rule", "stale-accumulation"]) == 0
    assert capsys.readouterr().out == page
    assert main(["rule", "ZG00"]) == 0
    assert capsys.readouterr().out.count("\n## Bad\n") == sum(code.startswith("ZG00") for code in REGISTRY)
