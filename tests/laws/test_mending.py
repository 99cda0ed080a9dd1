"""What is offered as a fix is one: for the faulty programs of the cases, and for those with further wounds.

A wound is what a hurried hand leaves: a line lost, said twice or moved, and the odd but legal ways to write the rest.
"""

import ast
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rules.programs import programs
from zerograd.core.findings import Certainty, Finding
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Sees
from zerograd.source.fixes.mending import mend
from zerograd.source.fixes.offering import fault
from zerograd.source.fixes.places import apply
from zerograd.source.sweep import Reader, Settings

PATH = "train.py"
BAD = [rule.bad for rule in REGISTRY.values() if Sees.SOURCE in rule.sees]
TEXTS = [*BAD, *(program.text for file in ("faults.md", "faults_source.md") for program in programs(file))]
ACTS = re.compile(r"^\s+.*(?:zero_grad|backward|step|clip_grad|unscale_|update)\w*\(.*\)\s*(?:#.*)?$")


def look(text: str) -> list[Finding]:
    return Reader(Settings()).judge(text, PATH)[0]


def lost(lines: list[str], here: int, _: int) -> list[str]:
    return [*lines[:here], *lines[here + 1 :]]


def said_twice(lines: list[str], here: int, _: int) -> list[str]:
    return [*lines[: here + 1], *lines[here:]]


def moved(lines: list[str], here: int, there: int) -> list[str]:
    left = lost(lines, here, there)
    return [*left[:there], lines[here], *left[there:]]


def commented(lines: list[str], here: int, _: int) -> list[str]:
    return [*lines[:here], lines[here] + "  # why; not", *lines[here + 1 :]]


def joined(lines: list[str], here: int, _: int) -> list[str]:
    return [*lines[:here], lines[here].split("#")[0].rstrip() + "; pass", *lines[here + 1 :]]


def under_a_test(lines: list[str], here: int, _: int) -> list[str]:
    indent = lines[here][: len(lines[here]) - len(lines[here].lstrip())]
    return [*lines[:here], f"{indent}if len(str(1)) == 1:", f"    {lines[here]}", *lines[here + 1 :]]


WOUNDS = (lost, said_twice, moved, commented, joined, under_a_test)
MANNERS = {
    "as it is": lambda text: text,
    "tabs": lambda text: re.sub(r"^(?:    )+", lambda found: "\t" * (len(found[0]) // 4), text, flags=re.M),
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "no end": lambda text: text.rstrip("\n"),
}


@st.composite
def wounded(draw: st.DrawFn) -> str:
    lines = draw(st.sampled_from(TEXTS)).split("\n")
    for wound in draw(st.lists(st.sampled_from(WOUNDS), max_size=2)):
        acts = [number for number, line in enumerate(lines) if ACTS.match(line)]
        assume(acts)
        here, there = draw(st.sampled_from(acts)), draw(st.sampled_from(acts))
        lines = wound(lines, here, there)
    return MANNERS[draw(st.sampled_from(list(MANNERS)))]("\n".join(lines))


def faults(findings: list[Finding], of: Finding) -> int:
    """How often the same fault is certain."""
    return sum(fault(one.code) == fault(of.code) for one in findings if one.certainty is Certainty.CERTAIN)


def hold_the_law(text: str) -> None:
    findings = look(text)
    for finding in findings:
        if finding.fix is not None:
            fixed = apply(text, finding.fix.edits)
            ast.parse(fixed)
            assert faults(look(fixed), finding) < faults(findings, finding)
    once = mend(text, PATH, look, unsafe=True)
    ast.parse(once.text)
    again = mend(once.text, PATH, look, unsafe=True)
    assert again.text == once.text
    assert not any(finding.fix for finding in once.left)


@pytest.mark.parametrize("text", BAD, ids=[rule.code for rule in REGISTRY.values() if Sees.SOURCE in rule.sees])
def test_fixes_of_the_pages_cure_and_settle(text: str) -> None:
    hold_the_law(text)


@given(wounded())
def test_fixes_of_wounded_programs_cure_and_settle(text: str) -> None:
    try:
        ast.parse(text)
    except SyntaxError:  # a function whose only line was lost: it is read by guessing, and nothing is offered
        assume(False)
    hold_the_law(text)
