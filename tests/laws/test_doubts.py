"""Certainty is a property of paths: the walk over sets says exactly what walking each fact alone would say.

The second interpreter below knows no union, no subsumption and no fixpoint over sets. It takes one fact down every path
and looks at each loop head it has not seen with that very fact, doubts and all.
"""

import ast
from collections.abc import Iterator

from hypothesis import HealthCheck, given, note, settings

from laws.programs import PROGRAMS, SLOTS
from zerograd.core.events import Event, Kind
from zerograd.core.facts import ALL_DOUBTS, Fact, Facts, follow
from zerograd.core.judgement import Code, judge
from zerograd.core.machine import START as BEGINNING
from zerograd.core.machine import advance
from zerograd.rules import REGISTRY
from zerograd.source.counting.said import forgetting
from zerograd.source.counting.tests import assume, decide
from zerograd.source.lowering.program import Program
from zerograd.source.lowering.skeleton import Act, Attempt, Block, Blur, Choice, Forget, Jump, Loop, Node, leaves
from zerograd.source.walking.flow import Interpreter

RULES = tuple(REGISTRY.values())
Way = tuple[str, Fact]
START: Facts = frozenset({Fact(BEGINNING), Fact(BEGINNING, ALL_DOUBTS)})


class Walker:
    """Walks one fact at a time; `interpreter` is asked only which doubts a branch earns."""

    def __init__(self, slot: str, interpreter: Interpreter) -> None:
        self.slot, self.interpreter = slot, interpreter
        self.trying = 0
        self.certain: set[tuple[int, str]] = set()
        self.found: set[tuple[int, str]] = set()

    def block(self, block: Block, fact: Fact) -> set[Way]:
        if not block:
            return {("normal", fact)}
        node, rest = block[0], block[1:]
        if isinstance(node, Choice) and leaves(node.body) != leaves(node.orelse):
            if leaves(node.body):
                return self.choice(node, node.body, (*node.orelse, *rest), fact)
            return self.choice(node, (*node.body, *rest), node.orelse, fact)
        ways = set()
        for way, after in self.node(node, fact):
            ways |= self.block(rest, after) if way == "normal" else {(way, after)}
        return ways

    def choice(self, node: Choice, body: Block, orelse: Block, fact: Fact) -> set[Way]:
        known, ways = decide(node.test, fact.assumed), set()
        for answer, arm, other in ((True, body, orelse), (False, orelse, body)):
            if known in (None, answer):
                assumed = assume(node.test, answer, fact.assumed)
                doubts = fact.doubts | self.interpreter.skipped(arm, other)
                ways |= self.block(arm, Fact(fact.state, doubts, assumed))
        return ways

    def node(self, node: Node, fact: Fact) -> set[Way]:
        match node:
            case Act():
                return set(self.act(node, fact))
            case Blur(kinds, slot):
                after = fact._replace(doubts=fact.doubts | kinds) if slot in (None, self.slot) else fact
                return {("normal", after), ("raises", after)} if self.trying else {("normal", after)}
            case Choice(body, orelse):
                return self.choice(node, body, orelse, fact)
            case Forget(keys):
                return {("normal", fact._replace(assumed=forgetting(fact.assumed, keys)))}
            case Jump(to):
                return {({"break": "breaks", "continue": "continues", "return": "returns"}.get(to, "raises"), fact)}
            case Loop():
                return self.loop(node, fact)
            case Attempt():
                return self.attempt(node, fact)
        return {("normal", fact)}

    def act(self, act: Act, fact: Fact) -> Iterator[Way]:
        if act.slot not in (None, self.slot):
            yield "normal", fact
            if self.trying:
                yield "raises", fact
            return
        event = Event(act.kind, self.slot, act.site, act.scaled)
        weak = act.slot is None and act.kind is not Kind.DEPOSIT
        for verdict in judge(frozenset({fact}), event, RULES, weak=weak):
            self.found.add((act.site.line, verdict.law.code))
            if verdict.certain:
                self.certain.add((act.site.line, verdict.law.code))
        afters = [follow(fact, event)]
        if weak:
            afters = [
                fact._replace(doubts=fact.doubts | {act.kind}),
                Fact(advance(fact.state, event), ALL_DOUBTS, fact.assumed),
            ]
        for after in afters:
            yield "normal", after
            if self.trying:
                yield "raises", after
        if self.trying:
            yield "raises", fact

    def loop(self, loop: Loop, fact: Fact) -> set[Way]:
        ways: set[Way] = set()
        heads, seen = [fact], {fact}
        done = set() if loop.endless else {fact._replace(doubts=fact.doubts | self.interpreter.kinds(loop.body))}
        while heads:
            for way, after in self.block(loop.body, heads.pop()):
                if way in ("normal", "continues"):
                    if not loop.endless:
                        done.add(after)
                    if after not in seen:
                        seen.add(after)
                        heads.append(after)
                else:
                    ways.add(("normal" if way == "breaks" else way, after))
        for after in done:
            ways |= self.block(loop.orelse, after)
        return ways

    def attempt(self, attempt: Attempt, fact: Fact) -> set[Way]:
        self.trying += 1
        tried = self.block(attempt.body, fact) | {("raises", fact)}
        self.trying -= 1
        ways: set[Way] = set()
        for way, after in tried:
            if way == "normal":
                ways |= self.block(attempt.orelse, after)
            elif way != "raises":
                ways.add((way, after))
            else:
                does = self.interpreter.kinds(attempt.body)
                caught = after._replace(doubts=after.doubts | does)
                for handler in attempt.handlers:
                    for end, last in self.block(handler, caught):
                        lost = does & {Kind.DEPOSIT} if end in ("normal", "returns") else set()
                        ways.add((end, last._replace(doubts=last.doubts | lost)))
                if not attempt.catches_all:
                    ways.add(("raises", after))
        if not attempt.final:
            return ways
        return {
            (way if end == "normal" else end, last)
            for way, after in ways
            for end, last in self.block(attempt.final, after)
        }


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(PROGRAMS)
def test_sets_of_facts_say_what_single_facts_say(text: str) -> None:
    note(text)
    lowering = Program(ast.parse(text), text, "main")
    block = lowering.function(lowering.roots.functions[0])
    for slot in SLOTS:
        found: set[tuple[int, str]] = set()
        certain: set[tuple[int, str]] = set()

        def report(verdict, found=found, certain=certain) -> None:
            key = (verdict.event.site.line, verdict.law.code)
            found.add(key)
            if verdict.certain:
                certain.add(key)

        interpreter = Interpreter(slot, alone=False, laws=Code(RULES), report=report)
        interpreter.block(block, START)
        walker = Walker(slot, interpreter)
        for fact in START:
            walker.block(block, fact)
        assert certain == walker.certain
        assert found == walker.found
