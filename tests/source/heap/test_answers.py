"""How a path answered is carried by its facts: a test answered once is answered the same way again."""

from zerograd.core.facts import ALL_DOUBTS, CLEAN
from zerograd.source.heap.answers import answer, assume, forget_tests, moved, placed
from zerograd.source.heap.conditions import (
    FIRST,
    LAST,
    MIDDLE,
    NO,
    YES,
    Asked,
    At,
    Counter,
    Linear,
    Not,
    Place,
    both,
    either,
    is_followed,
    negate,
)

AMP = Asked("true", (7,))
MODE_A, MODE_B = Asked("==", (3, ("k", "a"))), Asked("==", (3, ("k", "b")))
WINDOW = Place(Counter("loop", None), Linear(9, 0))


def always(question: object) -> bool:
    return True


def test_an_answer_excludes_the_other() -> None:
    yes = assume(CLEAN, AMP, True, always)
    assert len(yes) == 1
    assert not assume(yes, AMP, False, always)
    assert assume(yes, AMP, True, always) == yes


def test_what_nobody_asks_again_is_not_remembered() -> None:
    assert assume(CLEAN, AMP, True, lambda question: False) == CLEAN


def test_what_equals_one_constant_equals_no_other() -> None:
    assert not assume(assume(CLEAN, MODE_A, True, always), MODE_B, True, always)


def test_a_conjunction_is_answered_part_by_part() -> None:
    test = both(AMP, MODE_A)
    no = assume(CLEAN, test, False, always)
    assert assume(no, AMP, True, always)
    assert not assume(assume(no, AMP, True, always), MODE_A, True, always)


def test_a_window_goes_round() -> None:
    facts = placed(CLEAN, WINDOW, [LAST])
    assert not assume(facts, At(WINDOW, LAST), False, always)
    first = moved(facts, WINDOW)
    assert {answer(fact, WINDOW) for fact in first} == {FIRST}
    assert {answer(fact, WINDOW) for fact in moved(first, WINDOW)} == {MIDDLE, LAST}


def test_the_algebra_of_tests() -> None:
    assert negate(Not(AMP)) == AMP
    assert both(YES, AMP) == AMP
    assert either(AMP, YES) == YES
    assert both(AMP, NO) == NO
    assert is_followed(At(WINDOW, LAST))
    assert not is_followed(either(At(WINDOW, LAST), AMP))


def test_nothing_is_certain_of_paths_that_were_mixed_up() -> None:
    (mixed,) = forget_tests(assume(CLEAN, AMP, True, always) | assume(CLEAN, AMP, False, always))
    assert mixed.doubts == ALL_DOUBTS
    assert forget_tests(CLEAN) == CLEAN
