"""Answers follow from answers, and are forgotten when what they are about changes."""

import ast

import pytest

from zerograd.source.counting.tests import by_word, decide, read_test, touched


def _test(text: str):
    return read_test(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("known", "answer", "asked", "follows"),
    [
        ("self.amp", True, "self.amp", True),
        ("self.amp", True, "not self.amp", False),
        ("scaler is None", False, "scaler is not None", True),
        ("b", False, "a and b", False),
        ("b", True, "a and b", None),
        ("a", True, "a or b", True),
        ("mode == 'train'", True, "mode == 'valid'", False),
        ("mode == 'train'", True, "mode != 'train'", False),
        ("n == 1", True, "n > 1", False),
        ("f(x)", True, "f(x)", None),
        ("a", True, "b", None),
    ],
)
def test_what_follows(known: str, answer: bool, asked: str, follows: bool | None) -> None:
    assert decide(_test(asked), frozenset({(known, answer)})) is follows


def test_assigning_a_name_touches_what_mentions_it() -> None:
    keys = by_word(["amp", "self.amp", "x.amp == 1", "ramp"])
    assert touched("amp", keys) == ["amp"]
    assert touched("x", keys) == ["x.amp == 1"]
