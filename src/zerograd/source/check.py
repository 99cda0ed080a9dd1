"""From a text to its findings."""

import ast
from collections.abc import Iterable, Iterator

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, CLEAN, Fact, Facts, doubt, join, slim
from zerograd.core.findings import Certainty, Finding
from zerograd.core.judgement import Verdict
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule, Sees
from zerograd.rules.telling import tell
from zerograd.source import accumulation
from zerograd.source.bindings import Scope
from zerograd.source.flow import CYCLE, Interpreter
from zerograd.source.lower import Lowering
from zerograd.source.skeleton import Act, Block, Call, Create, walk

# A file without one of each is never parsed.
_TRIGGERS = (".step(", "zero_grad", "backward")
_FAMILY = ("torch", "lightning", "accelerate", "ignite", "fairseq", "deepspeed")
_DEPTH = 5


def check_text(text: str, path: str = "<text>", *, rules: Iterable[Rule] = ()) -> list[Finding]:
    """The findings in one Python file, by line. Raises SourceError if it is not Python."""
    chosen = tuple(rule for rule in (rules or REGISTRY.values()) if Sees.SOURCE in rule.sees)
    if not any(word in text for word in _TRIGGERS) or not any(word in text for word in _FAMILY):
        return []
    checker = _Checker(Lowering(_parse(text, path), path), chosen)
    findings: dict[tuple[object, ...], Finding] = {}
    for finding in checker.findings():
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


class _Checker:
    """Runs the interpreter for every function and every slot in it."""

    def __init__(self, lowering: Lowering, rules: tuple[Rule, ...]) -> None:
        self._lowering = lowering
        self._rules = rules

    def findings(self) -> Iterator[Finding]:
        module = self._lowering.module
        for slot, alone in self._slots(module):
            yield from self._run(module, slot, alone, entry=CLEAN, again=False)
        yield from self._idioms(module, self._lowering.tree, self._lowering.roots.module)
        for node, scope in self._lowering.roots.functions:
            block = self._lowering.function(node)
            yield from self._idioms(block, node, scope)
            for slot, alone in self._slots(block):
                # Entered by someone we cannot see, who may have done anything but take our steps for us.
                entry: Facts = frozenset({Fact(doubts=ALL_DOUBTS - {Kind.CONSUME})})
                yield from self._run(block, slot, alone, entry=entry, again=True)

    def _idioms(self, block: Block, function: ast.AST, scope: Scope) -> Iterator[Finding]:
        if any(isinstance(node, Act) and node.kind is Kind.DEPOSIT for node in walk(block)):
            chosen = {rule.code for rule in self._rules}
            found = accumulation.detect(block, _own(function), scope, self._lowering.path)
            yield from (finding for finding in found if finding.code in chosen)

    def _run(self, block: Block, slot: str, alone: bool, *, entry: Facts, again: bool) -> Iterator[Finding]:
        verdicts: list[Verdict[Rule]] = []
        interpreter = Interpreter(
            slot, alone=alone, rules=self._rules, report=verdicts.append, body_of=self._lowering.function
        )
        head = entry
        while True:
            flow = interpreter.block(block, head)
            # What this function leaves undone, its caller may do before it calls again.
            back = doubt(join(flow.normal, flow.returns), CYCLE - interpreter.kinds(block))
            grown = join(head, slim(Fact(fact.state, fact.doubts) for fact in back))
            if not again or grown == head:
                break
            head = grown
        yield from (tell(verdict, interpreter.trail) for verdict in verdicts)

    def _slots(self, block: Block) -> list[tuple[str, bool]]:
        """The slots a block consumes, here or in what it calls; and whether each is the only optimizer it knows."""
        known: set[str] = set()
        consumed: set[str] = set()
        for slot, kind in self._named(block, 0):
            known.add(slot)
            if kind is Kind.CONSUME:
                consumed.add(slot)
        return [(slot, len(known) == 1) for slot in sorted(consumed)]

    def _named(self, block: Block, depth: int) -> Iterator[tuple[str, Kind | None]]:
        """Every slot that is named, with what happens to it, as this block calls it."""
        kind: Kind | None
        for node in walk(block):
            match node:
                case Act(kind=kind, slot=str() as slot):
                    yield slot, kind
                case Create(slot):
                    yield slot, None
                case Call() if depth < _DEPTH:
                    for slot, kind in set(self._named(self._lowering.function(node.function), depth + 1)):
                        outside = node.outside(slot)
                        if outside is not None:
                            yield outside, kind


def _own(function: ast.AST) -> ast.AST:
    """The statements of a function or module, without those of the functions inside it."""
    body = function.body if isinstance(function, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) else []
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return ast.Module([statement for statement in body if not isinstance(statement, inner)], [])
