"""Places in lines, as Python, people and UTF-16 count them."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.source.text.lines import lines_of, replaced, starts_of, to_character, to_column, to_utf16

TEXTS = st.text(st.sampled_from("ab \t\n\r\f\u00e9\u4e2d\U0001f600\u2028"))
LINES = st.text(st.sampled_from("ab\u00e9\u4e2d\U0001f600"), max_size=8)


@given(LINES, st.integers(0, 8))
def test_columns_there_and_back(line: str, character: int) -> None:
    character = min(character, len(line))
    column = to_column(line, character)
    assert to_character(line, column) == character
    assert to_utf16(line, column) == len(line[:character].encode("utf-16-le")) // 2 + 1


@given(TEXTS)
def test_lines_are_those_of_the_parser(text: str) -> None:
    import io

    assert lines_of(text) == "".join(io.StringIO(text, newline=None)).split("\n")


@given(TEXTS)
def test_lines_begin_where_they_begin(text: str) -> None:
    starts, lines = starts_of(text), lines_of(text)
    assert [text[start : start + len(line)] for start, line in zip(starts, lines, strict=False)] == lines
    assert len(starts) == len(lines) + 1


@given(TEXTS, st.integers(1, 5))
def test_a_line_is_replaced_and_nothing_else(text: str, number: int) -> None:
    assert replaced(text, {}) == text
    lines = lines_of(text)
    if number <= len(lines):
        changed = replaced(text, {number: "new"})
        assert lines_of(changed) == [*lines[: number - 1], "new", *lines[number:]]
        assert len(changed) - len(text) == 3 - len(lines[number - 1])
