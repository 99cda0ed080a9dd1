"""A rule is tested by its own page: `bad` is reported at its line, `good` is silent, in every front end it claims."""

import pytest

from rules.programs import Program, audited, audited_in_full, checked
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule, Sees

FRONT_ENDS = {Sees.SOURCE: checked, Sees.RUN: audited, Sees.FULL: audited_in_full}
PAGES = [
    pytest.param(rule, look, Program(f"{rule.code} {part}", getattr(rule, part)), id=f"{rule.code}-{part}-{front.name}")
    for rule in REGISTRY.values()
    for front, look in FRONT_ENDS.items()
    if front in rule.sees and (front is Sees.SOURCE or rule.ranks == 1)  # the others: tests/run/test_syncing.py
    for part in ("bad", "good")
]


@pytest.mark.parametrize(("rule", "look", "program"), PAGES)
def test_the_page_is_true(rule: Rule, look, program: Program) -> None:
    expected = program.expected if look is checked else program.expected_in_run
    assert look(program) == expected
    assert expected or program.text == rule.good
    assert {code for _, code in program.expected} <= {rule.code}


@pytest.mark.parametrize("rule", REGISTRY.values(), ids=lambda rule: rule.code)
def test_the_rule_is_complete(rule: Rule) -> None:
    assert rule.code.startswith("ZG")
    assert len(rule.code) == 5
    assert rule.name.replace("-", "").islower()
    assert "please" not in rule.message
    assert "detected" not in rule.message
    assert len(rule.explanation.split()) > 40
    assert rule.remedy
    assert f"[{rule.code}]" in rule.bad
    assert "# error" not in rule.good
    assert "# note" not in rule.good
