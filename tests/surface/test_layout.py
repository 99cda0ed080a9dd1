"""The tree is the architecture: files that say what they are, no junk drawers, tests that mirror the source."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "zerograd"
FILES = list(SOURCE.rglob("*.py"))
BANNED = {"utils", "helpers", "common", "misc", "manager"}


def test_every_file_says_what_it_is() -> None:
    assert [file for file in FILES if not file.read_text().startswith('"""')] == []


def test_nothing_is_called_utils() -> None:
    assert [file for file in FILES if file.stem in BANNED] == []


def test_comments_and_docstrings_are_ascii() -> None:
    assert [file for file in FILES if not file.read_text().isascii()] == []


def test_tests_mirror_the_source() -> None:
    """A file tests/x/test_y.py belongs to src/zerograd/x/y.py, or to a folder of laws, surface or cases."""
    own = {"laws", "surface", "rules", "docs", "cli", "frameworks", "examples"}
    for test in (ROOT / "tests").rglob("test_*.py"):
        folder = test.parent.relative_to(ROOT / "tests")
        if not own & set(folder.parts):
            assert (SOURCE / folder / f"{test.stem.removeprefix('test_')}.py").exists(), test
