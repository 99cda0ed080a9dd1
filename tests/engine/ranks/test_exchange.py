"""Two and four ranks that step together under DDP. The checks themselves are in ddp_checks.py.

One test for all of them: they share the processes, which take longer to start than to check anything.
"""

from pathlib import Path

from engine.ranks.company import names_of, told_by

CHECKS = "engine.ranks.ddp_checks"
OF_FOUR = ("check_overlap", "check_commit", "check_each", "check_failures_are_everybodys", "check_rows_of_voters")


def test_two_ranks(tmp_path: Path) -> None:
    assert told_by(CHECKS, tmp_path, ranks=2) == {name: ["ok"] * 2 for name in names_of(CHECKS)}


def test_four_ranks(tmp_path: Path) -> None:
    assert told_by(CHECKS, tmp_path, ranks=4, only=OF_FOUR) == {name: ["ok"] * 4 for name in OF_FOUR}
