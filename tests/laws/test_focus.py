"""Laws that are walked apart say what they say together, and are no surer of it."""

import ast

from hypothesis import HealthCheck, given, note, settings

from laws.programs import PROGRAMS, SLOTS
from zerograd.core.facts import CLEAN
from zerograd.core.judgement import Code, Verdict
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule
from zerograd.source.lowering.program import Program
from zerograd.source.lowering.skeleton import Block
from zerograd.source.walking.flow import Interpreter
from zerograd.source.walking.focus import Focus
from zerograd.source.walking.frames import BodyOf
from zerograd.source.walking.walks import PARTS

Told = set[tuple[str, int]]


def told(block: Block, slot: str, codes: frozenset[str], body_of: BodyOf) -> tuple[Told, Told]:
    """What the laws of these codes tell, and what they are certain of."""
    verdicts: list[Verdict[Rule]] = []
    laws = Code(rule for code, rule in REGISTRY.items() if code in codes)
    Interpreter(slot, alone=False, laws=laws, report=verdicts.append, body_of=body_of).block(block, CLEAN)
    placed = [((one.law.code, one.event.site.line), one.certain) for one in verdicts if one.event.site is not None]
    return {key for key, _ in placed}, {key for key, certain in placed if certain}


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS)
def test_parts_tell_the_same_and_are_no_surer(text: str) -> None:
    note(text)
    program = Program(ast.parse(text), text, "main")
    block = program.function(program.roots.functions[0])
    for slot in SLOTS:
        for kinds, codes in PARTS:
            focus = Focus(block, kinds, program.body_of)
            whole, sure = told(block, slot, codes, program.body_of)
            part, surely = told(focus.block, slot, codes, focus.body_of)
            assert part == whole
            assert surely <= sure
