"""Source and run agree: what `check` reports is what the executions show, no more and no less."""

import ast

from hypothesis import HealthCheck, given, note, settings

from laws.programs import PROGRAMS, SLOTS, Found, findings_of_all_executions
from zerograd.core.facts import CLEAN
from zerograd.core.judgement import Code, Verdict
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule
from zerograd.source.lowering.program import Program
from zerograd.source.walking.flow import Interpreter


def findings_of_source(text: str) -> Found:
    lowering = Program(ast.parse(text), text, "main")
    main, *_ = lowering.roots.functions
    found: Found = set()
    for slot in SLOTS:

        def report(verdict: Verdict[Rule], slot: str = slot) -> None:
            assert verdict.event.site is not None
            found.add((slot, verdict.event.site.line, verdict.law.code))

        laws = Code(REGISTRY.values())
        Interpreter(slot, alone=False, laws=laws, report=report).block(lowering.function(main), CLEAN)
    return found


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS)
def test_source_finds_exactly_what_executions_show(text: str) -> None:
    note(text)
    assert findings_of_source(text) == findings_of_all_executions(text)
