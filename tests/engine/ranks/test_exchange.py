"""Two and four ranks that step together under DDP. The checks themselves are in ddp_checks.py."""

import pytest

from engine.ranks.company import names_of, told_by

CHECKS = "engine.ranks.ddp_checks"
OF_FOUR = (
    "check_overlap", "check_commit", "check_each", "check_failures_are_everybodys", "check_rows_of_voters",
)  # fmt: skip


@pytest.fixture(scope="module")
def of_two(tmp_path_factory):
    return told_by(CHECKS, tmp_path_factory.mktemp("ranks"), ranks=2)


@pytest.fixture(scope="module")
def of_four(tmp_path_factory):
    return told_by(CHECKS, tmp_path_factory.mktemp("ranks"), ranks=4, only=OF_FOUR)


@pytest.mark.parametrize("name", names_of(CHECKS))
def test_two_ranks(of_two: dict[str, list[str]], name: str) -> None:
    assert of_two.get(name) == ["ok"] * 2, of_two


@pytest.mark.parametrize("name", OF_FOUR)
def test_four_ranks(of_four: dict[str, list[str]], name: str) -> None:
    assert of_four.get(name) == ["ok"] * 4, of_four
