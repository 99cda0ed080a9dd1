"""How many certain findings in public code offer a fix, and whether each fix does what it says.

usage: python benchmarks/check/mends.py [--facts DIR --mirrors DIR] [--told] [FOLDER ...]

With --facts and --mirrors the files of the known bugs (see corpus.py); FOLDERs are checked as a whole. Each fix is
applied alone: the text must parse, the finding be gone, and nothing above a note have come. Then all of a file's fixes
are made together, and once more: the second time must change nothing. --told prints every finding without a fix.
"""

import argparse
import ast
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from corpus import Snapshot, laid_out, read_cases
from tools import named_files

from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.source.check import check_text
from zerograd.source.files.discover import read_text
from zerograd.source.fixes.mending import mend
from zerograd.source.fixes.places import apply
from zerograd.source.project.files import Project
from zerograd.source.sweep import Reader, Settings


class Tally:
    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.offered: Counter[str] = Counter()
        self.good: Counter[str] = Counter()
        self.files = self.mended = self.stable = 0
        self.troubles: list[str] = []
        self.without: list[str] = []

    def file(self, path: str, name: str) -> None:
        reader = Reader(Settings())
        try:
            text = read_text(path)
            findings, _ = reader.judge(text, path)
        except Exception as error:
            self.troubles.append(f"{name}: {type(error).__name__}: {error}")
            return
        certain = [finding for finding in findings if finding.certainty is Certainty.CERTAIN]
        if not certain:
            return
        self.files += 1
        for finding in certain:
            self.found[finding.code] += 1
            if finding.fix is None:
                self.without.append(f"{name}:{finding.site.line} {finding.code} {finding.message}")
                continue
            self.offered[finding.code] += 1
            trouble = _trouble(text, path, finding, findings)
            self.good[finding.code] += not trouble
            self.troubles += [f"{name}:{finding.site.line} {finding.code}: {trouble}"] * bool(trouble)
        self._together(text, path, name, reader)

    def _together(self, text: str, path: str, name: str, reader: Reader) -> None:
        once = mend(text, path, lambda other: reader.judge(other, path)[0], unsafe=True)
        again = mend(once.text, path, lambda other: reader.judge(other, path)[0], unsafe=True)
        self.mended += once.text != text
        self.stable += again.text == once.text
        open_still = [finding for finding in once.left if finding.fix is not None]
        if again.text != once.text or open_still:
            self.troubles.append(f"{name}: {len(open_still)} fixes are left, the second time changes something")

    def lines(self, *, told: bool) -> Iterator[str]:
        for code in sorted(self.found):
            counts = self.found[code], self.offered[code], self.good[code]
            yield "{}  certain {:4}  offers a fix {:4}  as said {:4}".format(code, *counts)
        share = self.good.total() / max(1, self.offered.total())
        yield (
            f"certain {self.found.total()}, with a fix {self.offered.total()}, "
            f"as said {self.good.total()} = {share:.1%}; "
            f"{self.files} files with certain findings, {self.mended} mended, {self.stable} the same the second time"
        )
        yield from (f"  trouble: {trouble}" for trouble in self.troubles)
        yield from (f"  without: {finding}" for finding in self.without if told)


def _trouble(text: str, path: str, finding: Finding, before: list[Finding]) -> str:
    """Why a fix is not what it says, found out by other means than those that offered it."""
    assert finding.fix is not None
    fixed = apply(text, finding.fix.edits)
    try:
        ast.parse(fixed)
    except SyntaxError as error:
        return f"does not parse: {error}"
    after = check_text(fixed, path, project=Project("."))
    if sum(one.code == finding.code for one in after) >= sum(one.code == finding.code for one in before):
        return "the finding is still there"
    come = _serious(after) - _serious(before)
    return f"brings {', '.join(come)}" if come else ""


def _serious(findings: list[Finding]) -> Counter[str]:
    return Counter(finding.code for finding in findings if finding.severity is not Severity.NOTE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--facts", type=Path)
    parser.add_argument("--mirrors", type=Path)
    parser.add_argument("--told", action="store_true")
    options = parser.parse_args()
    tally = Tally()
    if options.facts and options.mirrors:
        cases = read_cases(options.facts)
        for snapshot in dict.fromkeys(Snapshot(case.repo, case.commit) for case in cases):
            paths = sorted({case.path for case in cases if (case.repo, case.commit) == snapshot})
            with laid_out(options.mirrors, snapshot) as folder:
                if folder is None:
                    print(f"  {snapshot.repo}: not in the mirrors")
                    continue
                with chdir(folder):
                    for path in filter(os.path.exists, paths):
                        tally.file(path, f"{snapshot.repo} {path}")
    for folder in options.folders:
        files = named_files(folder)
        with chdir(folder):
            for path in files:
                tally.file(path, f"{folder.name} {path}")
    for line in tally.lines(told=options.told):
        print(line, flush=True)


if __name__ == "__main__":
    main()
