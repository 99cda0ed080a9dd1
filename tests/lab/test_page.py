import re
from pathlib import Path

from zerograd.lab.experiment import read_results
from zerograd.lab.page import brief, write_page

RESULTS = read_results(Path(__file__).parents[2] / "docs" / "lab" / "lab.json")


def test_one_file_that_needs_nothing_else(tmp_path: Path) -> None:
    write_page(RESULTS[:3], tmp_path)
    text = (tmp_path / "lab.html").read_text()
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    assert "prefers-color-scheme:dark" in text
    assert text.count("<figure>") == 3
    assert all(f"<section id={result.claim.id}>" in text for result in RESULTS[:3])


def test_numbers_are_brief() -> None:
    assert brief(0.123456) == "0.1235"
    assert brief({"mean": 1.0, "low": 0.5, "high": 1.5, "runs": 3}) == "1 (95%: 0.5 to 1.5; 3 runs)"
    assert brief([1, 2, 3, 4, 5, 6, 7]) == "1, 2, 3, 4, 5, 6, ... (7)"
    assert brief({"a": 1, "b": [2]}) == "a: 1; b: 2"
