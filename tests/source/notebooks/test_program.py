"""Cells as one program."""

import json

from zerograd.core.events import Site
from zerograd.core.findings import Edit
from zerograd.source.notebooks.layout import read_cells
from zerograd.source.notebooks.program import Joined, join


def joined(*sources: str) -> Joined:
    cells = [{"cell_type": "code", "source": source} for source in sources]
    return join(read_cells(json.dumps({"cells": cells}), "n.ipynb"))


def test_places_are_told_by_cell() -> None:
    program = joined("a\nb", "%%bash\nls", "c\nd")
    assert program.text == "a\nb\nc\nd"
    assert program.site(Site("n.ipynb", 4, 1, 4, 2)) == Site("n.ipynb", 2, 1, 2, 2, cell=3)
    assert program.edit(Edit(3, 1, 3, 1, "x\n")) == Edit(1, 1, 1, 1, "x\n", cell=3)


def test_the_last_line_of_a_cell_goes_with_the_end_before_it() -> None:
    program = joined("a\nb", "c")
    assert program.edit(Edit(2, 1, 3, 1, "")) == Edit(1, 2, 2, 2, "", cell=1)
    assert program.edit(Edit(1, 1, 3, 1, "")) == Edit(1, 1, 2, 2, "", cell=1)
    assert program.edit(Edit(1, 1, 3, 2, "")) is None  # two cells at once


def test_no_edit_touches_a_line_that_nobody_wrote() -> None:
    program = joined("%time\na", "b\nc")
    assert program.edit(Edit(1, 1, 2, 1, "")) is None
    assert program.edit(Edit(2, 1, 2, 1, "x\n")) is not None


def test_broken_cells_are_named() -> None:
    program = joined("a", "for", "b")
    assert program.troubles == ("cell 2 is not Python and is left out: invalid syntax",)
    assert program.text == "a\nb"
