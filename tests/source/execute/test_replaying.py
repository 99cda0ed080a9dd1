"""What is replayed is what would have been executed: findings are the same without it."""

import pytest

from zerograd.rules import REGISTRY
from zerograd.source.check import check_text
from zerograd.source.execute import statements
from zerograd.source.text.suppression import JUDGED


@pytest.mark.parametrize("code", sorted(JUDGED))
def test_the_same_without_it(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_it = [check_text(text, "program.py") for text in (REGISTRY[code].bad, REGISTRY[code].good)]
    monkeypatch.setattr(statements, "_REPLAYED", frozenset())
    assert [check_text(text, "program.py") for text in (REGISTRY[code].bad, REGISTRY[code].good)] == with_it
