"""What is replayed is what would have been executed: findings are the same without it."""

import pytest

from zerograd.rules import REGISTRY
from zerograd.source.abstract import CODES, check_abstractly
from zerograd.source.execute import statements


@pytest.mark.parametrize("code", sorted(CODES))
def test_the_same_without_it(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = [check_abstractly(text, "program.py") for text in (REGISTRY[code].bad, REGISTRY[code].good)]
    monkeypatch.setattr(statements, "_REPLAYED", frozenset())
    assert [check_abstractly(text, "program.py") for text in (REGISTRY[code].bad, REGISTRY[code].good)] == with_it
