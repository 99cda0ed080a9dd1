"""What docs/trainers.md shows is what the trainings of tests/integrations do."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_line_that_is_shown_is_run() -> None:
    blocks = re.findall(r"^```py\n(.*?)^```", (ROOT / "docs" / "trainers.md").read_text(), re.M | re.S)
    run = "\n".join(file.read_text() for file in (ROOT / "tests" / "integrations").glob("*_run.py"))
    assert len(blocks) == 3
    assert [line for block in blocks for line in block.splitlines() if line not in run] == []
