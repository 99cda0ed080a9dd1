"""`make docs` builds the site: every link leads somewhere, and a reader fetches nothing from elsewhere."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("browser")  # one site, built once
ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """From a copy: other tests write beside the pages while it is built."""
    pytest.importorskip("zensical")
    root = tmp_path_factory.mktemp("site") / "project"
    aside = shutil.ignore_patterns(".*", "build", "zerograd-demo", "__pycache__")
    shutil.copytree(ROOT, root, ignore=aside)
    subprocess.run([sys.executable, str(root / "docs" / "making" / "site.py")], check=True, capture_output=True)
    return root / "build" / "site"


def test_every_page_is_there(built: Path) -> None:
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    pages = {page.with_name("index.html") if page.stem == "README" else page for page in pages}
    assert {page for page in pages if not (built / page).exists()} == set()


def test_nothing_is_fetched_from_elsewhere(built: Path) -> None:
    for page in built.rglob("*.html"):
        text = page.read_text()
        assert re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="https?:', text) == []
        assert re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*href="https?:', text) == []


def test_the_search_works_from_a_disk(built: Path) -> None:
    """Where a browser starts no Worker: docs/making/worker.js stands in for it."""
    if CHROMIUM is None:
        pytest.skip("no chromium here: apt-get install chromium, or name one in CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=quiet)
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((built / "index.html").as_uri())
        page.get_by_role("button", name="Search").first.click()
        page.get_by_placeholder("Search").last.fill("clipping")
        page.get_by_text("seems to do nothing").first.wait_for()
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_every_page_of_docs_is_in_the_navigation() -> None:
    config = tomllib.loads((ROOT / "docs" / "making" / "zensical.toml").read_text())
    told = set(re.findall(r"'([\w/]+\.md)'", str(config["project"]["nav"])))
    lacking = {page.name for page in (ROOT / "docs").glob("*.md")} - told
    assert lacking == set(), "add them to nav in docs/making/zensical.toml"
