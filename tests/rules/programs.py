"""Programs from the rules' own pages and from Markdown, with the findings their comments ask for."""

import re
from pathlib import Path
from typing import NamedTuple

from zerograd.core.findings import Certainty, Finding
from zerograd.run.audit import audit
from zerograd.source.check import check_text

# One comment may ask for different codes: "# error: [ZG006] run: [ZG001]".
_EXPECTED = re.compile(r"# (?:error|note): \[(\w+)\](?: run: \[(\w+)\])?")
_CASE = re.compile(r"^## (.+?)$\s+```python\n(.*?)^```$", re.M | re.S)
CASES = Path(__file__).parent / "cases"


class Program(NamedTuple):
    name: str
    text: str

    @property
    def expected(self) -> set[tuple[int, str]]:
        return {(number, source) for number, source, _ in self._asked()}

    @property
    def expected_in_run(self) -> set[tuple[int, str]]:
        return {(number, run or source) for number, source, run in self._asked()}

    def _asked(self) -> list[tuple[int, str, str]]:
        lines = enumerate(self.text.splitlines(), start=1)
        return [(number, *codes) for number, line in lines for codes in _EXPECTED.findall(line)]


def programs(file: str) -> list[Program]:
    """Every program of a case file, each behind the file's scenery."""
    cases = dict(_CASE.findall((CASES / file).read_text()))
    scenery = cases.pop("scenery", "")
    return [Program(name, scenery + "\n" + text) for name, text in cases.items()]


def certain(findings: list[Finding], expected: set[tuple[int, str]]) -> set[tuple[int, str]]:
    """What would fail a check, and the notes that were asked for."""
    asked = {code for _, code in expected}
    return {
        (found.site.line, found.code)
        for found in findings
        if found.fails or (found.certainty is Certainty.CERTAIN and found.code in asked)
    }


def checked(program: Program) -> set[tuple[int, str]]:
    return certain(check_text(program.text, "program.py"), program.expected)


def audited(program: Program) -> set[tuple[int, str]]:
    with audit(on_finding="collect") as watch:
        exec(compile(program.text, "program.py", "exec"), {"__name__": "__main__"})
    return certain(watch.findings, program.expected_in_run)
