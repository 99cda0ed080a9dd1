"""Cells and where they stand in the JSON."""

import json

import pytest

from zerograd.errors import SourceError
from zerograd.source.notebooks.layout import read_cells


def test_cells_of_nbformat_4() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# train"]},
        {"cell_type": "code", "source": ["a\n", "b"], "outputs": [{"source": "not this"}]},
        {"source": "c", "metadata": {"cell_type": "raw"}, "cell_type": "code"},
        {"cell_type": "raw", "source": "d"},
        {"cell_type": "code", "source": []},
    ]
    text = json.dumps({"metadata": {}, "cells": cells, "nbformat": 4}, indent=2)
    found = read_cells(text, "n.ipynb")
    assert [(cell.number, cell.source, cell.is_list) for cell in found] == [
        (2, "a\nb", True),
        (3, "c", False),
        (5, "", True),
    ]
    assert [json.loads(text[cell.start : cell.end]) for cell in found] == [["a\n", "b"], "c", []]


def test_cells_of_nbformat_3() -> None:
    sheets = [
        {"cells": [{"cell_type": "code", "language": "python", "input": ["a"]}]},
        {"cells": [{"cell_type": "code", "input": "b"}]},
    ]
    text = json.dumps({"worksheets": sheets, "nbformat": 3})
    assert [(cell.number, cell.source) for cell in read_cells(text, "n.ipynb")] == [(1, "a"), (2, "b")]


def test_another_language_has_no_cells_of_ours() -> None:
    text = json.dumps({"cells": [{"cell_type": "code", "source": "a"}], "metadata": {"kernelspec": {"language": "R"}}})
    assert read_cells(text, "n.ipynb") == []


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "[]", "null", '"x"', '{"cells": 3}', '{"cells": [3]}', '{"cells": [{"cell_type": "code",'),
        *('{"cells": [{"cell_type": "code", "source": 3}]}', '{"cells": [{"cell_type": "code", "source": [3]}]}'),
        *('{"cells": [] "a": 1}', '{"metadata": [], "cells": []}', '{"cells": ' + "[" * 100_000),
    ],
)
def test_what_is_no_notebook_gets_one_line(text: str) -> None:
    with pytest.raises(SourceError, match=r"n\.ipynb: is not a notebook: "):
        read_cells(text, "n.ipynb")
