"""What no vote can promise is bounded by the time limit, and told all the same. The checks are in limit_checks.py."""

from pathlib import Path

import pytest

from engine.ranks.company import told_by


@pytest.mark.parametrize("name", ["check_fsdp2", "check_ddp"])
def test_a_rank_that_fails_inside_a_collective(name: str, tmp_path: Path) -> None:
    told = told_by("engine.ranks.limit_checks", tmp_path, ranks=2, only=(name,), timeout=12)
    assert told == {name: ["ok", "ok"]}, told
