"""`make docs` builds the site: every link leads somewhere, and a reader fetches nothing from elsewhere."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "site"


@pytest.fixture(scope="module")
def built() -> Path:
    pytest.importorskip("zensical")
    subprocess.run([sys.executable, str(ROOT / "docs" / "making" / "site.py")], check=True, capture_output=True)
    return SITE


def test_every_page_is_there(built: Path) -> None:
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    pages = {page.with_name("index.html") if page.stem == "README" else page for page in pages}
    assert {page for page in pages if not (built / page).exists()} == set()


def test_nothing_is_fetched_from_elsewhere(built: Path) -> None:
    for page in built.rglob("*.html"):
        text = page.read_text()
        assert re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="https?:', text) == []
        assert re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*href="https?:', text) == []


def test_every_page_of_docs_is_in_the_navigation() -> None:
    config = tomllib.loads((ROOT / "docs" / "making" / "zensical.toml").read_text())
    told = set(re.findall(r"'([\w/]+\.md)'", str(config["project"]["nav"])))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= told
