"""The abstract run over all case programs: faulty lines found per code, correct programs accused.

    python benchmarks/check/readers.py [--show CODE]

A program is faulty for the codes that its comments ask for, and correct for all others.
"""

import argparse
import collections
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from zerograd.core.findings import Certainty, Severity
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Sees
from zerograd.source.check import check_text
from zerograd.source.project.files import Project
from zerograd.source.text.suppression import JUDGED, UNUSED

CODES = JUDGED - {UNUSED}
CASES = Path(__file__).parents[2] / "tests" / "rules" / "cases"
_CASE = re.compile(r"^## (.+?)$\s+```python\n(.*?)^```$", re.M | re.S)
_MARK = re.compile(r"# (?:error|note|source): \[(\w+)\]")


class Case(NamedTuple):
    name: str
    text: str

    @property
    def expected(self) -> set[tuple[int, str]]:
        lines = enumerate(self.text.splitlines(), start=1)
        return {(number, code) for number, line in lines for code in _MARK.findall(line)}


def cases() -> Iterator[Case]:
    """Every program that source is asked about: the case files, and the rules' own pages."""
    for file in sorted(CASES.glob("*.md")):
        if file.stem.endswith("_run"):
            continue
        programs = dict(_CASE.findall(file.read_text()))
        scenery = programs.pop("scenery", "")
        for name, text in programs.items():
            yield Case(f"{file.stem}: {name}", scenery + "\n" + text)
    for rule in REGISTRY.values():
        if Sees.SOURCE in rule.sees:
            yield Case(f"{rule.code}: bad", rule.bad)
            yield Case(f"{rule.code}: good", rule.good)


class Score:
    def __init__(self) -> None:
        self.certain: collections.Counter[str] = collections.Counter()
        self.possible: collections.Counter[str] = collections.Counter()
        self.missed: collections.Counter[str] = collections.Counter()
        self.accused: collections.Counter[str] = collections.Counter()  # certain, where nothing was asked for
        self.programs_accused: set[str] = set()
        self.crashed: list[str] = []
        self.lines: dict[str, list[str]] = collections.defaultdict(list)

    def add(self, case: Case, found: dict[tuple[int, str], bool]) -> None:
        for line, code in sorted(case.expected):
            if code not in CODES:
                continue
            now = found.get((line, code))
            counter = self.missed if now is None else self.certain if now else self.possible
            counter[code] += 1
            if not now:
                self.lines[code].append(f"{'possible' if now is False else 'missed  '} {case.name} line {line}")
        for (line, code), certain in sorted(found.items()):
            if certain and (line, code) not in case.expected:
                self.accused[code] += 1
                self.lines[code].append(f"ACCUSED  {case.name} line {line}")
                if not case.expected:
                    self.programs_accused.add(case.name)


def findings(case: Case) -> dict[tuple[int, str], bool]:
    """What is found, and whether it is certain. A note accuses nobody: it counts where it is asked for."""
    found: dict[tuple[int, str], bool] = {}
    for finding in check_text(case.text, "program.py", project=Project()):
        key = (finding.site.line, finding.code)
        asked = finding.severity is not Severity.NOTE or finding.code in {code for _, code in case.expected}
        found[key] = found.get(key, False) or (finding.certainty is Certainty.CERTAIN and asked)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", default="", help="list the lines of this code that are missed or accused")
    options = parser.parse_args()
    score, correct, began, slowest = Score(), 0, time.process_time(), (0.0, "")
    for case in cases():
        correct += not case.expected
        started = time.process_time()
        try:
            score.add(case, findings(case))
        except Exception as error:
            score.crashed.append(f"{case.name}: {type(error).__name__}: {error}")
        slowest = max(slowest, (time.process_time() - started, case.name))
    print(f"{'code':6} {'certain':>8} {'possible':>9} {'missed':>7} {'share':>6} {'accused':>8}")
    for code in sorted(CODES):
        asked = score.certain[code] + score.possible[code] + score.missed[code]
        share = score.certain[code] / asked if asked else 1.0
        print(
            f"{code:6} {score.certain[code]:8} {score.possible[code]:9} {score.missed[code]:7} {share:6.0%} "
            f"{score.accused[code]:8}"
        )
    asked = sum((score.certain + score.possible + score.missed).values())
    print(f"all    {sum(score.certain.values())} of {asked} certain ({sum(score.certain.values()) / asked:.0%})")
    print(f"correct programs accused: {len(score.programs_accused)} of {correct}; crashed: {len(score.crashed)}")
    print(f"{time.process_time() - began:.1f} s of CPU; the slowest {slowest[0]:.2f} s: {slowest[1]}")
    for code, lines in sorted(score.lines.items()):
        if options.show in (code, "all"):
            print(*(f"{code} {line}" for line in lines), sep="\n")
    for line in score.crashed[:20]:
        print("CRASH", line)


if __name__ == "__main__":
    main()
