"""The documents say what is true: their Python runs, their links lead somewhere, their slugs are the ones we raise."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SOURCE = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    if page.parent.name != "rules"  # those programs are run by tests/rules, and some of them should fail
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block: str) -> None:
    exec(compile(block, "block.py", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_slug_is_explained_and_every_explanation_is_used() -> None:
    raised = set(re.findall(r'slug="([\w-]+)"', SOURCE))
    explained = set(re.findall(r"^### ([\w-]+)$", (ROOT / "docs" / "errors.md").read_text(), re.M))
    assert raised == explained


def test_the_readmes_finding_is_the_demos() -> None:
    """The first thing a reader sees is what the tool prints today."""
    from zerograd.lab.demo import SCRIPTS
    from zerograd.report.colour import Paint
    from zerograd.report.text import full
    from zerograd.source.check import check_text

    text = (SCRIPTS / "train.py").read_text()
    (finding,) = (finding for finding in check_text(text, "train.py") if finding.fails)
    assert full(finding, lambda path: text.splitlines(), Paint(on=False)) in (ROOT / "README.md").read_text()


def test_every_command_of_the_readme_exists() -> None:
    from zerograd.cli import COMMANDS

    used = set(
        re.findall(r"zerograd (\w+)", " ".join(re.findall(r"^\$ (.*)$", (ROOT / "README.md").read_text(), re.M)))
    )
    assert used <= set(COMMANDS)
