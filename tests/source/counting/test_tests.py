"""Answers follow from answers, and are forgotten when what they are about changes."""

import ast

import pytest

from zerograd.source.counting.tests import assume, by_word, decide, read_test, touched


def _test(text: str):
    return read_test(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("known", "answer", "asked", "follows"),
    [
        ("self.amp", True, "self.amp", True),
        ("self.amp", True, "not self.amp", False),
        ("scaler is not None", True, "scaler is None", False),
        ("a and b", True, "b", True),
        ("a and b", False, "b", None),
        ("a or b", False, "a", False),
        ("mode == 'train'", True, "mode == 'valid'", False),
        ("mode != 'train'", True, "mode == 'train'", False),
        ("f(x)", True, "f(x)", None),
        ("a", True, "b", None),
    ],
)
def test_what_follows(known: str, answer: bool, asked: str, follows: bool | None) -> None:
    assumed = assume(_test(known), answer, frozenset())
    assert decide(_test(asked), assumed) is follows


def test_assigning_a_name_touches_what_mentions_it() -> None:
    keys = by_word(["amp", "self.amp", "x.amp == 1", "ramp"])
    assert touched("amp", keys) == ["amp"]
    assert touched("x", keys) == ["x.amp == 1"]
