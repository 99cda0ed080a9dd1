"""Every case program that source is asked about, with the lines its marks call faulty."""

from typing import NamedTuple

from rules.programs import CASES, Program, programs
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Sees
from zerograd.source.text.suppression import JUDGED

MOVED = JUDGED  # the codes that are held to the laws in the gate: all that source answers


class Case(NamedTuple):
    name: str  # "wolf: a clip that was left in the loop over the test set"
    text: str
    faults: frozenset[tuple[int, str]]  # line and code of each mark

    @property
    def is_correct(self) -> bool:
        return not self.faults


def cases() -> list[Case]:
    """The rules' own pages and every file of cases, but those that only a run can judge."""
    files = sorted(file.name for file in CASES.glob("*.md") if not file.stem.endswith("_run"))
    found = [_case(f"{file.removesuffix('.md')}: {one.name}", one) for file in files for one in programs(file)]
    for code, rule in REGISTRY.items():
        if Sees.SOURCE in rule.sees:
            found += [_case(f"{code}: {part}", Program(part, getattr(rule, part))) for part in ("bad", "good")]
    return found


def _case(name: str, program: Program) -> Case:
    return Case(name, program.text, frozenset(program.expected))
