"""What IPython takes and Python does not."""

import ast

import pytest

from zerograd.source.notebooks.magics import tame


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install torch\nx = 1", "pass\nx = 1"),
        ("if x:\n    !ls \\\n  -l\n    y", "if x:\n    pass\n\n    y"),
        ("files = !ls\nx = %env HOME", "files = None\nx = None"),
        ("x.shape?\n?x\nx??", "pass\npass\npass"),
        ("%%time\nfor x in y:\n    pass", "\nfor x in y:\n    pass"),
        ("%%capture out\n!ls\nx", "\npass\nx"),
        ("%time\r\nx = 1\r\n", "pass\r\nx = 1\r\n"),
    ],
)
def test_lines_keep_their_numbers(source: str, python: str) -> None:
    assert tame(source).text == python
    ast.parse(python)


def test_python_is_left_alone() -> None:
    source = 's = """\n%time\n!ls\n"""\nx = (a\n% b)\n'
    assert tame(source) == (source, frozenset(), "")


def test_a_cell_of_something_else_is_no_trouble() -> None:
    for source in ("%%bash\nls | wc", "%%html\n<b>", "%%writefile train.py\nimport torch\n$x"):
        assert tame(source) == (None, frozenset(), "")


def test_a_broken_cell_is() -> None:
    told = tame("for x in\n%time")
    assert told.text is None
    assert told.trouble == "invalid syntax"
