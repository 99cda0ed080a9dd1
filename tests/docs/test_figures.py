"""A figure that is told twice is the same figure: README and docs/benchmarks.md repeat what the results say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
BOTH = ("README.md", "docs/benchmarks.md")
# What a page says, and what the result says for it.
TOLD = [
    (BOTH, " | 53 | 7 | no rule about gradients |", "check.md", "| 53 / 62 (85%) | 58 / 62 (94%) | 7 / 62 (11%) |"),
    (BOTH, " | 1,033 |", "check.md", "**1033 / 1034 (99.9%)**"),
    (BOTH, " | 5.0", "check.md", "| 4.77 s | 5.03 s |"),
    (BOTH, " | 203", "check.md", "| 203.1 s, its rule about gradients alone |"),
    (("README.md",), "Of 349 certain findings in", "first-contact.md", "316 of 349 certain findings"),
    (("docs/benchmarks.md",), "316 of the last 349", "first-contact.md", "316 of 349 certain findings"),
    (BOTH, "118 of 322", "first-contact.md", "118 of 322 faults certain (37%)"),
    (("docs/benchmarks.md",), "61 of 63", "first-contact.md", "61 of 63 certain findings"),
    (("docs/benchmarks.md",), "14 of 56", "first-contact.md", "14 of 56 faults certain (25%)"),
    (BOTH, "0.1 to 0.5%", "audit.md", "| 148 | lean | no | 74.3 | 339 | 0.46 |"),
    (BOTH, "0.7 to 0.9%", "audit.md", "| 0.72; 0.93; 0.93 |"),
]


@pytest.mark.parametrize(("pages", "told", "result", "measured"), TOLD, ids=[each[1].strip(" |") for each in TOLD])
def test_a_figure_is_the_measured_one(pages: tuple[str, ...], told: str, result: str, measured: str) -> None:
    assert measured in (RESULTS / result).read_text()
    for page in pages:
        assert told in re.sub(r"\s+", " ", (ROOT / page).read_text()), page


def rows(text: str, first: str) -> list[list[str]]:
    """The cells of the table whose first row begins so."""
    lines = text.partition(f"\n{first}")[2].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


# Of each question, what an answer means that the probe calls wrong, and one that it calls right.
MEANS = (("1/4 each", "rows"), ("1/4", "1/2"), ("the other 3", "none"), ("yes", "no"), ("yes", "no"), ("lost", "kept"))


def test_the_six_questions_have_the_probes_answers() -> None:
    told = rows((ROOT / "README.md").read_text(), "| | PyTorch |")
    measured = rows((RESULTS / "step.md").read_text(), "| | plain PyTorch |")
    assert len(told) == 6
    for row, probed, (wrong, right) in zip(told, measured, MEANS, strict=True):
        means = {"right": right, "-": "-"}
        assert row[1:] == [means.get(cell, wrong) for cell in probed[1:]], row[0]


def test_the_milliseconds_are_those_of_the_engine() -> None:
    measured = {row[0]: row[1:] for row in rows((RESULTS / "engine.md").read_text(), "| ms |")}
    ways = ["raw loop", "Accelerate", "Fabric", "Step", "Step, captured", "Step, captured + compile"]
    told = rows((ROOT / "README.md").read_text(), "| | plain loop |")
    for row, task in zip(told, (0, 1, 2, 5), strict=True):
        for cell, way in zip(row[1:], ways, strict=True):
            expected = measured[way][task]
            assert (float(cell) if cell else None) == (float(expected) if expected else None), (task, way)
