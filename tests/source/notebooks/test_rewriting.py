"""New text for a cell, and not one byte beside it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerograd.core.findings import Edit
from zerograd.source.fixes.places import Places, apply
from zerograd.source.notebooks.layout import read_cells
from zerograd.source.notebooks.rewriting import rewrite

WORDS = st.text(alphabet='ab \t\n"\\/\u00e9\U0001f600\u2028', max_size=12)
EDIT = st.tuples(st.integers(0, 20), st.integers(0, 6), WORDS)


@st.composite
def notebooks(draw: st.DrawFn) -> str:
    cells = [
        {"cell_type": "code", "metadata": {}, "source": draw(st.one_of(WORDS, st.lists(WORDS, max_size=4)))}
        for _ in range(draw(st.integers(0, 3)))
    ]
    indent = draw(st.sampled_from([None, 0, 1, 2, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    text = json.dumps({"cells": cells}, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    ends = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from(["", "\n", "  "])) + ends + draw(st.sampled_from(["", "\n"]))


@given(notebooks())
def test_no_edit_changes_no_byte(text: str) -> None:
    assert rewrite(text, "n.ipynb", []) == text
    cells = read_cells(text, "n.ipynb")
    nothing = [Edit(1, 1, 1, 1, "", cell.number) for cell in cells]
    assert rewrite(text, "n.ipynb", nothing) == text


@given(notebooks(), EDIT)
def test_an_edit_changes_its_cell_alone(text: str, wanted: tuple[int, int, str]) -> None:
    cells = read_cells(text, "n.ipynb")
    if not cells:
        return
    cell = cells[-1]
    places = Places(cell.source)
    start = min(wanted[0], len(cell.source))
    edit = Edit(*places.place(start), *places.place(min(start + wanted[1], len(cell.source))), wanted[2], cell.number)
    new = rewrite(text, "n.ipynb", [edit])
    assert new.startswith(text[: cell.start])
    assert new.endswith(text[cell.end :])
    assert read_cells(new, "n.ipynb")[-1].source == apply(cell.source, [edit])


@pytest.mark.parametrize("indent", [1, None])
def test_a_new_line_is_a_string_of_its_own(indent: int | None) -> None:
    def notebook(*lines: str) -> str:
        return json.dumps({"cells": [{"cell_type": "code", "source": lines}], "nbformat": 4}, indent=indent)

    text = notebook("for x in y:\n", "    step()")
    put = Edit(2, 1, 2, 1, "    clear()\n", 1)
    assert rewrite(text, "n.ipynb", [put]) == notebook("for x in y:\n", "    clear()\n", "    step()")
    behind = Edit(2, 11, 2, 11, "\n    clear()", 1)
    assert rewrite(text, "n.ipynb", [behind]) == notebook("for x in y:\n", "    step()\n", "    clear()")
    gone = Edit(1, 1, 2, 1, "", 1)
    assert rewrite(text, "n.ipynb", [gone]) == notebook("    step()")


def test_escapes_stay_as_they_were() -> None:
    text = '{"cells": [{"cell_type": "code", "source": "a = \\"\\u003c\\/b>\\"\\nc"}]}'
    edited = rewrite(text, "n.ipynb", [Edit(2, 1, 2, 2, "d\n", 1)])
    assert edited == text.replace('\\nc"', '\\nd\\n"')
