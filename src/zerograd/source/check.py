"""From a text to its findings."""

import ast
from collections.abc import Iterable

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, CLEAN, Fact, Facts, doubt, join
from zerograd.core.findings import Certainty, Finding
from zerograd.core.judgement import Verdict
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule, Sees
from zerograd.rules.telling import tell
from zerograd.source.flow import CYCLE, Interpreter
from zerograd.source.lower import Lowering
from zerograd.source.skeleton import Act, Block, Create, acts

# A file without one of each is never parsed.
_TRIGGERS = (".step(", "zero_grad", "backward")
_FAMILY = ("torch", "lightning", "accelerate", "ignite", "fairseq", "deepspeed")


def check_text(text: str, path: str = "<text>", *, rules: Iterable[Rule] = ()) -> list[Finding]:
    """The findings in one Python file, by line. Raises SourceError if it is not Python."""
    chosen = tuple(rule for rule in (rules or REGISTRY.values()) if Sees.SOURCE in rule.sees)
    if not any(word in text for word in _TRIGGERS) or not any(word in text for word in _FAMILY):
        return []
    lowering = Lowering(_parse(text, path), path)
    findings: dict[tuple[object, ...], Finding] = {}
    for finding in _module(lowering, chosen) + _functions(lowering, chosen):
        key = (finding.site, finding.code)
        known = findings.get(key)
        if known is None or (known.certainty is Certainty.POSSIBLE and finding.certainty is Certainty.CERTAIN):
            findings[key] = finding
    return sorted(findings.values(), key=lambda finding: (finding.site, finding.code))


def _parse(text: str, path: str) -> ast.Module:
    try:
        return ast.parse(text, path)
    except SyntaxError as error:
        raise SourceError(f"{path}:{error.lineno or 1}: not Python 3: {error.msg}", slug="not-python") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"{path}: cannot be parsed: {error}", slug="not-python") from None


def _module(lowering: Lowering, rules: tuple[Rule, ...]) -> list[Finding]:
    return [
        finding
        for slot, alone in _slots(lowering.module)
        for finding in _run(lowering.module, slot, alone, rules, entry=CLEAN, again=False)
    ]


def _functions(lowering: Lowering, rules: tuple[Rule, ...]) -> list[Finding]:
    """Every function is entered by someone we cannot see, again and again."""
    entry: Facts = frozenset({Fact(doubts=ALL_DOUBTS)})
    return [
        finding
        for node, _ in lowering.roots.functions
        for slot, alone in _slots(lowering.function(node))
        for finding in _run(lowering.function(node), slot, alone, rules, entry=entry, again=True)
    ]


def _slots(block: Block) -> list[tuple[str, bool]]:
    """The slots a block consumes, and whether each is the only optimizer that the block knows."""
    named = [act for act in acts(block) if isinstance(act, Act | Create) and act.slot is not None]
    paths = {act.slot for act in named}
    consumed = {act.slot for act in named if isinstance(act, Act) and act.kind is Kind.CONSUME}
    return [(slot, len(paths) == 1) for slot in sorted(slot for slot in consumed if slot)]


def _run(block: Block, slot: str, alone: bool, rules: tuple[Rule, ...], *, entry: Facts, again: bool) -> list[Finding]:
    verdicts: list[Verdict[Rule]] = []
    interpreter = Interpreter(slot, alone=alone, rules=rules, report=verdicts.append)
    head = entry
    while True:
        flow = interpreter.block(block, head)
        # What this function leaves undone, its caller may do before it calls again.
        back = doubt(join(flow.normal, flow.returns), CYCLE - interpreter.kinds(block))
        grown = join(head, back)
        if not again or grown == head:
            return [tell(verdict, interpreter.trail) for verdict in verdicts]
        head = grown
