"""Places in a text and edits to it."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.core.findings import Edit
from zerograd.source.fixes.places import Places, apply, overlap

TEXTS = st.text(alphabet="ab \t\r\n\f\u00e9\u4e2d\U0001f600", max_size=30)


@given(TEXTS, st.integers(0, 30))
def test_a_place_leads_back_to_its_character(text: str, number: int) -> None:
    places = Places(text)
    offset = min(number, len(text))
    if text[offset - 1 : offset + 1] != "\r\n":  # between the two is no place
        assert places.offset(*places.place(offset)) == offset


@given(TEXTS)
def test_no_edit_changes_nothing(text: str) -> None:
    assert apply(text, []) == text
    line, column = Places(text).place(len(text))
    assert apply(text, [Edit(1, 1, line, column, text)]) == text


def test_edits_at_one_place_stand_in_their_order() -> None:
    assert apply("c", [Edit(1, 1, 1, 1, "a"), Edit(1, 1, 1, 1, "b")]) == "abc"


def test_overlap() -> None:
    line = Edit(2, 1, 3, 1, "")
    assert overlap([line], [Edit(2, 5, 2, 6, "x")])
    assert overlap([line], [Edit(2, 5, 2, 5, "x")])
    assert not overlap([line], [Edit(2, 1, 2, 1, "x"), Edit(3, 1, 3, 1, "x")])
    assert not overlap([line], [Edit(2, 5, 2, 6, "x", cell=2)])
