"""python docs/making/site.py: build/site, from the Markdown of docs/, the results and the examples.

A page may point at anything in the repository. What is a page of the site is linked there; an example becomes a page
of its own. A link to anything else stops the build: the site would not have it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "build" / "pages"
CONFIG = ROOT / "docs" / "making" / "zensical.toml"
_SHIM = re.compile(r'<script src="https://unpkg.com/iframe-worker/shim"[^>]*></script>')
_LINK = re.compile(r"\[([^\]\[]*)\]\(([^)\s#]+)((?:#[^)]*)?)\)")


def places() -> dict[Path, Path]:
    """Every file of the repository that the site has, and where it stands there."""
    found = {}
    for folder, below in (("docs", ""), ("benchmarks/results", "benchmarks"), ("examples", "examples")):
        for file in sorted((ROOT / folder).rglob("*")):
            within = file.relative_to(ROOT / folder)
            if file.suffix in (".md", ".svg", ".png", ".html") or (folder == "examples" and file.suffix == ".py"):
                found[file] = Path(below) / within.with_name(_name(file))
    found[ROOT / "CONTRIBUTING.md"] = Path("contributing.md")
    found[ROOT / "CHANGELOG.md"] = Path("changelog.md")
    return found


def _name(file: Path) -> str:
    if file.name == "README.md":
        return "index.md"
    return f"{file.stem}.md" if file.suffix == ".py" else file.name


def stage(placed: dict[Path, Path]) -> list[str]:
    """Write every file to where it stands in the site. Returns the links that lead out of it."""
    shutil.rmtree(PAGES, ignore_errors=True)
    lost: list[str] = []
    for file, place in placed.items():
        target = PAGES / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            target.write_text(_relinked(file, place, placed, lost), encoding="utf-8")
        elif file.suffix == ".py":
            target.write_text(_example(file), encoding="utf-8")
        else:
            shutil.copy(file, target)
    return lost


def _relinked(file: Path, place: Path, placed: dict[Path, Path], lost: list[str]) -> str:
    def there(match: re.Match[str]) -> str:
        text, link, anchor = match.groups()
        if "://" in link:
            return match[0]
        target = (file.parent / link).resolve()
        if target.is_dir():
            target = next((target / name for name in ("README.md", "plain.py") if target / name in placed), target)
        if target not in placed:
            lost.append(f"{file.relative_to(ROOT)}: {link}")
            return match[0]
        relative = os.path.relpath(placed[target], place.parent).replace(os.sep, "/")
        return f"[{_title(target) if text.endswith('.md') else text}]({relative}{anchor})"

    # What stands between fences is code, and keeps its brackets.
    parts = re.split(r"(^```.*?^```$)", file.read_text(encoding="utf-8"), flags=re.M | re.S)
    return "".join(part if part.startswith("```") else _LINK.sub(there, part) for part in parts)


def _title(page: Path) -> str:
    """In a repository a link is called by its file, on a site by its title."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _example(file: Path) -> str:
    return f"# {file.name}\n\n`python examples/{file.name}`\n\n```python\n{file.read_text(encoding='utf-8')}```\n"


def main() -> int:
    lost = stage(places())
    told = re.findall(r'= "([^"]+\.md)" }', CONFIG.read_text(encoding="utf-8"))  # the builder does not look at these
    lost += [f"{CONFIG.name}: {page}" for page in told if not (PAGES / page).exists()]
    for link in lost:
        print(f"the site does not have {link}", file=sys.stderr)
    if lost:
        return 1
    shutil.copy(CONFIG, PAGES.parent)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(PAGES.parent / CONFIG.name)]
    status = subprocess.run(command, check=False).returncode
    own = f"<script>{CONFIG.with_name('worker.js').read_text(encoding='utf-8')}</script>"
    for page in PAGES.with_name("site").rglob("*.html"):
        # For the search in pages that are opened from a disk. Theirs would be the only thing that is fetched.
        page.write_text(_SHIM.sub(lambda _: own, page.read_text(encoding="utf-8")), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
