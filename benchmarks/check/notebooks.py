"""Real notebooks: none crashes, and what is not fixed stays what it was, byte for byte.

usage: python benchmarks/check/notebooks.py --mirrors DIR [--told]

Every notebook at the head of every mirror (see corpus.py) is checked. Each is rewritten with no edit, with edits
that put nothing anywhere, and with its fixes: then the JSON must differ in the cells of those fixes alone.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpus import git_directory

from zerograd.core.findings import Certainty, Edit
from zerograd.errors import SourceError
from zerograd.source.fixes.mending import mend
from zerograd.source.fixes.places import Places
from zerograd.source.notebooks.layout import read_cells
from zerograd.source.notebooks.program import join
from zerograd.source.notebooks.rewriting import rewrite
from zerograd.source.sweep import Reader, Settings


def notebooks(mirrors: Path) -> Iterator[tuple[str, str]]:
    """The name and the text of each."""
    for home in sorted(mirrors.iterdir()):
        git = git_directory(home)
        names = _git(git, "ls-tree", "-r", "-z", "--name-only", "HEAD").split(b"\0") if git is not None else []
        for name in names:
            if git is not None and name.endswith(b".ipynb"):
                raw = _git(git, "show", f"HEAD:{name.decode()}")
                try:
                    yield f"{home.name}/{name.decode()}", raw.decode("utf-8")
                except UnicodeError:
                    continue


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--told", action="store_true")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    slowest = 0.0
    for name, text in notebooks(options.mirrors):
        counts["notebooks"] += 1
        begun = time.process_time()
        try:
            _measure(name, text, counts, codes, told=options.told)
        except SourceError as error:
            counts["no notebooks, told in one line"] += 1
            print(f"  {error.what[:200]}")
        except Exception as error:
            counts["CRASHES"] += 1
            print(f"  CRASH {name}: {type(error).__name__}: {error}")
        slowest = max(slowest, time.process_time() - begun)
    print(", ".join(f"{what} {count}" for what, count in counts.items()))
    print("certain findings:", ", ".join(f"{code} {count}" for code, count in sorted(codes.items())) or "none")
    print(f"slowest: {slowest:.1f} s")
    sys.exit(1 if counts["CRASHES"] or counts["CHANGED"] else 0)


def _measure(name: str, text: str, counts: Counter[str], codes: Counter[str], *, told: bool) -> None:
    cells = read_cells(text, name)
    counts["code cells"] += len(cells)
    counts["cells left out"] += len(join(cells).troubles)
    same = [
        Edit(line, column, line, column, "", cell.number) for cell in cells for line, column in _spread(cell.source)
    ]
    odd = rewrite(text, name, []) != text or rewrite(text, name, same) != text
    reader = Reader(Settings())
    findings, _ = reader.judge(text, name)
    certain = [finding for finding in findings if finding.certainty is Certainty.CERTAIN]
    codes.update(finding.code for finding in certain)
    counts["with a fix"] += sum(finding.fix is not None for finding in certain)
    for finding in certain if told else ():
        print(f"  {finding}"[:220])
    mended = mend(text, name, lambda other: reader.judge(other, name)[0], unsafe=True)
    counts["fixed"] += len(mended.fixed)
    if mended.text != text:
        touched = {finding.site.cell for finding in mended.fixed}
        odd = odd or _without(text, touched) != _without(mended.text, touched)
        again = mend(mended.text, name, lambda other: reader.judge(other, name)[0], unsafe=True)
        odd = odd or again.text != mended.text
    counts["CHANGED" if odd else "byte-equal"] += 1
    if odd:
        print(f"  CHANGED {name}")


def _spread(source: str) -> Iterator[tuple[int, int]]:
    """Some places all over a text."""
    places = Places(source)
    return (places.place(offset) for offset in range(0, len(source) + 1, 7))


def _without(text: str, numbers: set[int]) -> object:
    """The JSON but for the text of some cells."""
    notebook = json.loads(text)
    for number, cell in enumerate(notebook.get("cells", []), start=1):
        if number in numbers:
            cell["source"] = ""
    return json.dumps(notebook, indent=1)


def _git(git: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(git), *arguments], capture_output=True).stdout


if __name__ == "__main__":
    main()
