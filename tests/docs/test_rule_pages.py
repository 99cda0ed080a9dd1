"""docs/rules says what the rule objects say today, and so does `zerograd rule`."""

from pathlib import Path

import pytest

from zerograd.cli import main
from zerograd.report.rules import pages
from zerograd.rules import REGISTRY

FOLDER = Path(__file__).parents[2] / "docs" / "rules"
WANTED = pages(REGISTRY.values())


def test_there_is_a_page_for_every_rule_and_an_index() -> None:
    assert {page.name for page in FOLDER.glob("*.md")} == set(WANTED)


@pytest.mark.parametrize("name", WANTED)
def test_the_page_is_up_to_date(name: str) -> None:
    """If not: make pages."""
    assert (FOLDER / name).read_text() == WANTED[name]


@pytest.mark.parametrize("rule", REGISTRY.values(), ids=REGISTRY)
def test_the_page_is_whole(rule) -> None:
    page = WANTED[f"{rule.code}.md"]
    assert f"{rule.code} " in page.partition("```text\n")[2].partition("```")[0]
    assert rule.good.rstrip() in page
    assert "# error" not in page


def test_zerograd_rule_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "ZG001"]) == 0
    assert capsys.readouterr().out == WANTED["ZG001.md"]
    assert main(["rule", "--all"]) == 0
    assert capsys.readouterr().out == "\n".join(WANTED[f"{code}.md"] for code in REGISTRY)
