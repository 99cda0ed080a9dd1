"""Two and four ranks that step together. The checks themselves are in ddp_checks.py."""

import pytest

from engine.ranks.company import names_of, told_by

CHECKS = "engine.ranks.ddp_checks"


@pytest.fixture(scope="module", params=[2, 4])
def told(request, tmp_path_factory):
    return told_by(CHECKS, tmp_path_factory.mktemp("ranks"), ranks=request.param)


@pytest.mark.parametrize("name", names_of(CHECKS))
def test_ranks(told: dict[str, list[str]], name: str) -> None:
    assert set(told.get(name, [str(told.get("start"))])) == {"ok"}, "\n".join(told.get(name, []))
