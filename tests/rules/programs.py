"""Programs from the rules' own pages and from Markdown, with the findings their comments ask for."""

import json
import linecache
import re
import warnings
from collections import Counter
from itertools import product
from pathlib import Path
from typing import NamedTuple

from zerograd.core.findings import Certainty, Finding
from zerograd.core.tally import tally
from zerograd.report.colour import Paint
from zerograd.report.footer import Rest, footer
from zerograd.report.formats import render
from zerograd.run.audit import Mode, audit
from zerograd.source.check import check_text

# One comment may ask for different codes: "# error: [ZG006] run: [ZG001]".
_EXPECTED = re.compile(r"# (?:error|note): \[(\w+)\](?: run: \[(\w+)\])?")
# And a run may see at one line what source sees at another: "# source: [ZG103]" and "# run: [ZG103]".
_ALONE = re.compile(r"# (source|run): \[(\w+)\]")
_CASE = re.compile(r"^## (.+?)$\s+```python\n(.*?)^```$", re.M | re.S)
CASES = Path(__file__).parent / "cases"
# A program's heading, and below it "- line 19, ZG004: the fact that is missing".
_LOST = re.compile(r"^- line (\d+), (ZG\d+): \S.*$", re.M)
LOST = Path(__file__).parent / "lost.md"


class Program(NamedTuple):
    name: str
    text: str

    @property
    def expected(self) -> set[tuple[int, str]]:
        return {(number, source) for number, source, _ in self._asked()} | self._alone("source")

    @property
    def expected_in_run(self) -> set[tuple[int, str]]:
        return {(number, run or source) for number, source, run in self._asked()} | self._alone("run")

    def _alone(self, front: str) -> set[tuple[int, str]]:
        lines = enumerate(self.text.splitlines(), start=1)
        return {(number, code) for number, line in lines for where, code in _ALONE.findall(line) if where == front}

    def _asked(self) -> list[tuple[int, str, str]]:
        lines = enumerate(self.text.splitlines(), start=1)
        return [(number, *codes) for number, line in lines for codes in _EXPECTED.findall(line)]


def programs(file: str) -> list[Program]:
    """Every program of a case file, each behind the file's scenery."""
    cases = dict(_CASE.findall((CASES / file).read_text()))
    scenery = cases.pop("scenery", "")
    return [Program(name, scenery + "\n" + text) for name, text in cases.items()]


def lost() -> dict[str, set[tuple[int, str]]]:
    """By the name of a program, its faulty lines that are known not to be certain."""
    listed = (part.partition("\n") for part in LOST.read_text().split("\n## ")[1:])
    return {name: {(int(line), code) for line, code in _LOST.findall(rest)} for name, _, rest in listed}


def certain(findings: list[Finding], expected: set[tuple[int, str]]) -> set[tuple[int, str]]:
    """What would fail a check, and the notes that were asked for."""
    asked = {code for _, code in expected}
    return {
        (found.site.line, found.code)
        for found in findings
        if found.fails or (found.certainty is Certainty.CERTAIN and found.code in asked)
    }


def checked(program: Program) -> set[tuple[int, str]]:
    found = check_text(program.text, "program.py")
    assert_counts_agree(found)
    return certain(found, program.expected)


def assert_counts_agree(found: list[Finding]) -> None:
    """The closing line, the JSON and the exit status say the same, whatever is shown."""
    rows = json.loads(render("json", found, lambda _: None, Paint(on=False)))
    kinds = Counter("possible" if row["certainty"] == "possible" else row["severity"] for row in rows)
    for possible, notes in product((True, False), repeat=2):
        said = footer(found, Rest(1), possible=possible, notes=notes).partition(";")[0]
        told = {kind.rstrip("s"): int(number) for number, kind in re.findall(r"(\d+) (\w+)(?= \(|,|$)", said)}
        assert told == dict(kinds), said
    assert any(finding.fails for finding in found) == bool(kinds["error"] + kinds["warning"])


def audited(program: Program, *, mode: Mode = "lean") -> set[tuple[int, str]]:
    """What a run finds. A program may end by the exception that it is there to show."""
    lines = program.text.splitlines(keepends=True)
    linecache.cache["program.py"] = (len(program.text), None, lines, "program.py")
    watch = audit(on_finding="collect", mode=mode)
    try:
        with watch, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, about the loops we wrote to be odd
            exec(compile(program.text, "program.py", "exec"), {"__name__": "__main__"})
    except (AssertionError, AttributeError, RuntimeError, TypeError):
        if not program.expected_in_run:
            raise
    assert_counts_agree(watch.findings)
    assert watch.counts().startswith(tally(watch.findings))
    return certain(watch.findings, program.expected_in_run)


def audited_in_full(program: Program) -> set[tuple[int, str]]:
    return audited(program, mode="full")
