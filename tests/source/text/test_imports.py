"""Imports are found without parsing."""

import pytest

from zerograd.source.text.imports import imports_of


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import os, hands as h", [("os", ""), ("hands", "")]),
        ("from .hands import tidy as t, pull", [(".hands", "tidy"), (".hands", "pull")]),
        ("    from hands import (tidy,", [("hands", "tidy"), ("hands", "")]),
        ("imported = 1", []),
    ],
)
def test_what_a_line_imports(line: str, found: list[tuple[str, str]]) -> None:
    assert list(imports_of(f"x = 1\n{line}\ny = 2\n")) == found
