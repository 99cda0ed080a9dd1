import json

import pytest

from zerograd.cli import main
from zerograd.rules import REGISTRY

FIELDS = {"code", "name", "severity", "message", "explanation", "bad", "good", "sees", "cure", "fix"}
Captured = pytest.CaptureFixture[str]


def said(capsys: Captured, *words: str) -> str:
    assert main(["rule", *words]) == 0
    return capsys.readouterr().out


def test_all_rules_as_json(capsys: Captured) -> None:
    rules = json.loads(said(capsys, "--all", "--output-format", "json"))
    assert [rule["code"] for rule in rules] == list(REGISTRY)
    for rule in rules:
        assert set(rule) == FIELDS
        assert all(rule[field] for field in FIELDS)


def test_without_words_every_rule_has_a_line(capsys: Captured) -> None:
    head, *rows = said(capsys).splitlines()
    assert head.split() == ["code", "name", "severity", "found", "by", "fix", "what", "is", "wrong"]
    assert [row.split()[0] for row in rows] == list(REGISTRY)
    assert rows[0].split()[:6] == ["ZG001", "stale-accumulation", "error", "check,", "run", "unsafe"]


def test_a_page_by_code_or_name(capsys: Captured) -> None:
    page = said(capsys, "ZG001")
    assert page.startswith("# ZG001 stale-accumulation\n\nError. Found by `zerograd check` and `zerograd run`.")
    assert said(capsys, "stale-accumulation") == said(capsys, "zg001") == said(capsys, "stale") == page


def test_what_several_rules_share_lists_them(capsys: Captured) -> None:
    _, *rows = said(capsys, "ZG00")
    assert rows
    assert [row.split()[0] for row in said(capsys, "ZG2").splitlines()[1:]] == ["ZG201", "ZG202", "ZG203", "ZG204"]
    assert [row.split()[1] for row in said(capsys, "clip").splitlines()[1:]] == [
        "clip-before-unscale",
        "clip-out-of-place",
    ]


@pytest.mark.parametrize(("word", "near"), [("ZG01", "ZG010"), ("ZG999", "ZG901"), ("stale-acumulation", "stale-acc")])
def test_a_slip_names_the_nearest(word: str, near: str, capsys: Captured) -> None:
    assert main(["rule", word]) == 2
    assert f"Did you mean {near!r}"[:-1] in capsys.readouterr().err


def test_on_a_terminal_a_page_is_rendered(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "# ZG001" not in said(capsys, "ZG001")
    assert "stale-accumulation" in said(capsys)
