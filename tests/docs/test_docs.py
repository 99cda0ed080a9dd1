"""The documents say what is true: their Python runs, their links lead somewhere, their slugs are the ones we raise."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *RESULTS.glob("*.md")])
SOURCE = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    if page.parent.name != "rules"  # those programs are run by tests/rules, and some of them should fail
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S))
]


@pytest.mark.filterwarnings("ignore:zerograd skipped a step")  # what a Step says when a page shows a skip
@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block: str) -> None:
    exec(compile(block, "block.py", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", prose(page)):
        if "://" in target:
            continue
        found = (page.parent / target) if target else page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), f"{target}#{anchor}"


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """Those that GitHub and the site make of the headings."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_slug_is_explained_and_every_explanation_is_used() -> None:
    raised = set(re.findall(r'slug="([\w-]+)"', SOURCE))
    explained = set(re.findall(r"^### ([\w-]+)$", (ROOT / "docs" / "errors.md").read_text(), re.M))
    assert raised == explained


def test_every_command_of_the_readme_exists() -> None:
    from zerograd.cli import COMMANDS

    used = set(
        re.findall(r"zerograd (\w+)", " ".join(re.findall(r"^\$ (.*)$", (ROOT / "README.md").read_text(), re.M)))
    )
    assert used <= set(COMMANDS)
