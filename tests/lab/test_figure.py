"""A figure follows its page into the dark: every colour is a variable, and a file of its own brings both sets."""

import re
from pathlib import Path

from zerograd.lab.figure import BAD, GOOD, as_svg, bars, curves, new_figure, save, styled


def _figure():
    figure = new_figure()
    top, bottom = figure.subplots(2)
    curves(top, {"one": [1.0, 2.0], "two": [3.0, float("nan")]})
    bars(bottom, {"none": 0.0, "some": 0.1}, floor=1e-6, colours=(GOOD, BAD))
    return figure


def test_no_colour_is_fixed() -> None:
    with styled():
        text = as_svg(_figure(), alone=False)
    assert not re.findall(r"(?:fill|stroke): #", text)
    assert "var(--good)" in text
    assert "<style" not in text.partition("<defs>")[0]
    assert not re.search(r'(href|src)="http', text)


def test_a_file_brings_both_sets(tmp_path: Path) -> None:
    with styled():
        save(_figure(), tmp_path / "C01")
    text = (tmp_path / "C01.svg").read_text()
    assert "prefers-color-scheme:dark" in text
    assert "--good:#0a6ebd" in text
    assert (tmp_path / "C01.png").stat().st_size > 1000


def test_the_same_numbers_make_the_same_file() -> None:
    with styled():
        assert as_svg(_figure(), alone=True) == as_svg(_figure(), alone=True)
