"""From a text to its findings.

Two readers, while the rules move from one to the other: the abstract run answers for the codes in MOVED, the old reader
for all others. No finding comes from both.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain

from zerograd.core.events import Kind, Site
from zerograd.core.facts import ALL_DOUBTS, CLEAN, Doubts, Fact, Facts
from zerograd.core.findings import Finding, once
from zerograd.core.judgement import Code, Verdict
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule, idiom
from zerograd.rules.telling import tell
from zerograd.source import idioms, wholes
from zerograd.source.groups import accumulation
from zerograd.source.lowering.library import Library
from zerograd.source.lowering.program import Program
from zerograd.source.lowering.skeleton import Act, Block, Call, Create, Loop, picks_several, walk
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.order.privacy import Privacy
from zerograd.source.text.parsing import parse
from zerograd.source.text.suppression import JUDGED, allow
from zerograd.source.text.triggers import may_train
from zerograd.source.values.callers import is_handed_too
from zerograd.source.values.holdings import held_by, supposed, with_wholes
from zerograd.source.values.reading import File, Reading
from zerograd.source.walking.flow import Interpreter
from zerograd.source.walking.frames import CYCLE
from zerograd.source.walking.leaking import Leaks
from zerograd.source.walking.objectives import NOT_SHARED, Deposits, Owned, read_objectives
from zerograd.source.walking.templates import templates
from zerograd.source.walking.unclaimed import Unclaimed
from zerograd.source.walking.unfolding import waits_for_others
from zerograd.source.walking.verdicts import is_trial, worth_telling
from zerograd.source.walking.walks import Walk, Walker
from zerograd.source.walking.ways import Budget

# The codes that the abstract run answers for.
MOVED: frozenset[str] = frozenset(
    [
        *("ZG001", "ZG002", "ZG003", "ZG004", "ZG005", "ZG006", "ZG007", "ZG009"),
        *("ZG201", "ZG202", "ZG204", "ZG301", "ZG302"),
    ]
)
_DEPTH = 5
_FOLLOWED = frozenset({"ZG008", "ZG010", "ZG402"})  # told by what values are made of
# A function is entered by someone we cannot see, who may have done anything but take its steps for it.
_UNKNOWN: Facts = frozenset({Fact(doubts=ALL_DOUBTS - {Kind.CONSUME, Kind.SCHEDULE})})


def check_text(
    text: str, path: str = "<text>", *, rules: Iterable[Rule] = (), library: Library | None = None
) -> list[Finding]:
    """The findings in one Python file, by line. Raises SourceError if it is not Python.

    What the file imports is looked up in `library`; without one, no other file is read.
    """
    chosen = tuple(rule for rule in (rules or REGISTRY.values()) if rule.code in JUDGED)
    if not may_train(text):
        return allow([], text, path, chosen)
    try:
        found = once([*_read(text, path, chosen, library), *_executed(text, path, chosen, library)])
    except RecursionError:
        raise SourceError(f"{path}: is nested too deeply to be read", slug="not-python") from None
    if library is not None:
        found = [one for one in found if one.site.path == path or not library.allows(one)]
    return allow(found, text, path, chosen)


def _executed(text: str, path: str, chosen: tuple[Rule, ...], library: Library | None) -> list[Finding]:
    """What the abstract run finds, of the rules that have moved to it."""
    codes = {rule.code for rule in chosen} & MOVED
    if not codes:
        return []
    from zerograd.source.abstract import check_abstractly  # 25 modules that no file needs while nothing has moved

    found = check_abstractly(text, path, project=library.project if library is not None else None)
    return [one for one in found if one.code in codes]


def _read(text: str, path: str, chosen: tuple[Rule, ...], library: Library | None) -> list[Finding]:
    """What the old reader finds, of the rules that have not."""
    left = tuple(rule for rule in chosen if rule.code not in MOVED)
    if not left:
        return []
    program = library.open(path, text) if library is not None else Program(parse(text, path), text, path)
    checker = _Checker(program, left, text)
    found = list(checker.findings())
    if library is not None:
        library.consulted(path, checker.privacy.asked)
    return found


@lru_cache(maxsize=8)  # what it has worked out for one file holds for all
def _laws(judged: frozenset[str]) -> Code[Rule]:
    return Code(rule for code, rule in REGISTRY.items() if code in judged and rule.lacks is not idiom)


class _Checker:
    """Runs the interpreter for every function and every slot in it."""

    def __init__(self, program: Program, rules: tuple[Rule, ...], text: str) -> None:
        self._program = program
        self._budget = Budget()
        self._chosen = {rule.code for rule in rules}
        self._laws = _laws(frozenset(self._chosen))
        self._told: set[tuple[Site, str]] = set()
        self._deposits: dict[int, Deposits] = {}
        self._names: dict[tuple[object, ...], frozenset[tuple[str, Kind | None]]] = {}
        self._leaks = Leaks(program)
        self._file = File(program, text)
        self.privacy = Privacy(self._file)

    def findings(self) -> Iterator[Finding]:
        module = self._program.module
        tree, top = self._program.tree, self._program.roots.module
        slots = self._slots(module)
        shared = self._shared(module, slots, None)
        for slot, alone in slots:
            yield from self._run(module, slot, alone, entry=CLEAN, again=False, node=tree, scope=top, shared=shared)
        yield from self._idioms(module, tree, top)
        yield from filter(self._is_sure, wholes.detect(self._file))
        for function in self._program.roots.functions:
            if function.node not in self._program.relevant:
                continue
            block = self._program.function(function)
            yield from self._idioms(block, function.node, function.scope)
            yield from self._called(function, block, function.scope.owner)
        for method, cls in templates(self._program):
            yield from self._called(method, self._program.body_of(method), cls)
        self._file.others.clear()
        self._file.definitions.clear()  # they know the file: without a collector, nobody would ever let go of them

    def _called(self, function: Function, block: Block, cls: Scope | None) -> Iterator[Finding]:
        """A function that anybody may call, again and again; of a method, on an object of this class."""
        node, scope = function.node, function.scope
        if is_trial(node, block) or self._budget.is_spent:
            return
        slots = self._slots(block, cls)
        shared = self._shared(block, slots, cls)
        for slot, alone in slots:
            if self._budget.is_spent or is_handed_too(slot, Reading(node, (), scope, self._file)):
                continue
            yield from self._run(
                block, slot, alone, entry=_UNKNOWN, again=True, node=node, cls=cls, scope=scope, shared=shared
            )

    def _idioms(self, block: Block, function: ast.AST, scope: Scope) -> Iterator[Finding]:
        if not block:
            return
        reading = Reading(function, block, scope, self._file)
        found = idioms.detect(reading)
        trains = any(act.kind in (Kind.DEPOSIT, Kind.CONSUME) for act in reading.acts)
        if trains or (reading.parts(Call) and waits_for_others(block)):
            found = chain(accumulation.detect(reading), found)
        yield from filter(self._is_sure, found)

    def _is_sure(self, finding: Finding) -> bool:
        """Whether a finding is asked for, and nothing that it may rest on was left unfollowed."""
        return finding.code in self._chosen and (self._file.patience >= 0 or finding.code not in _FOLLOWED)

    def _run(
        self,
        block: Block,
        slot: str,
        alone: bool,
        *,
        entry: Facts,
        again: bool,
        node: ast.AST | None = None,
        cls: Scope | None = None,
        scope: Scope | None = None,
        shared: Unclaimed | None = None,
    ) -> Iterator[Finding]:
        owned = NOT_SHARED
        if scope is not None and node is not None:
            owned = self._owned(block, slot, scope, node, alone)
        undone = partial(self._undone, slot=slot, scope=scope) if again else None
        walker = Walker(slot, alone, owned, cls, self._program.body_of, entry, undone)
        walks = list(walker.walks(block, self._laws, self._budget))
        if shared is not None and walks:
            walks[-1].verdicts.extend(shared.agreed([met for one in walks for met in one.interpreter.unclaimed]))
        for walk_ in walks:
            for verdict in worth_telling(walk_.verdicts, block, slot):
                yield from self._tell(verdict, walk_, self._entry(node) if again else None)

    def _undone(self, interpreter: Interpreter, block: Block, slot: str, scope: Scope | None) -> Doubts:
        """What a function leaves undone, its caller may do before it calls again."""
        undone = CYCLE - interpreter.kinds(block, seen=True)
        if Kind.CLEAR in undone and self.privacy.of(slot, scope):
            undone -= {Kind.CLEAR}
        if Kind.DEPOSIT in undone and self._file.says("unscale_"):  # who deposits may unscale too
            undone |= {Kind.UNSCALE}
        if any(isinstance(loop, Loop) and loop.begun for loop in walk(block)):
            undone |= {Kind.CLEAR}  # with a first iteration of its own it may be meant to be called once
        return undone

    def _tell(self, verdict: Verdict[Rule], met: Walk, entered_at: Site | None) -> Iterator[Finding]:
        finding = tell(verdict, met.interpreter.trail)
        if not verdict.certain:
            if (finding.site, finding.code) in self._told:
                return  # many ways lead to one doubt, and to look for its reason takes as long as to judge
            why = met.interpreter.excuse(met.block, verdict, entered_at)
            finding = finding._replace(related=(*finding.related, *([why] if why is not None else ())))
        self._told.add((finding.site, finding.code))
        yield finding

    def _entry(self, node: ast.AST | None) -> Site | None:
        """Where a function begins, if it has a place."""
        return Site(self._program.path, node.lineno, node.col_offset + 1) if isinstance(node, ast.stmt) else None

    def _owned(self, block: Block, slot: str, scope: Scope, node: ast.AST, alone: bool) -> Owned:
        """What is known of a slot that shares its loop with others: its modules, and whom each deposit serves."""
        function = Reading(node, block, scope, self._file)
        modules = held_by(slot, function)
        probes = self._leaks.into(modules, block, node, scope.owner, alone=alone)
        if alone or not self._program.traces_losses:
            return Owned(slot, modules, probes=probes) if modules or probes else NOT_SHARED
        key = id(block)
        if key not in self._deposits:
            self._deposits[key] = read_objectives(block, self._program.body_of)
        deposits = self._deposits[key]
        others = frozenset().union(*(one.serves for one in deposits.values())) - {slot}
        theirs = frozenset().union(*(held_by(other, function) for other in others))
        guessed = supposed(slot, scope, deposits) - theirs if not modules else frozenset[str]()
        return Owned(slot, with_wholes(modules, theirs), deposits, probes, theirs, guessed)

    def _slots(self, block: Block, cls: Scope | None = None) -> list[tuple[str, bool]]:
        """The slots a block consumes, here or in what it calls; and whether each is the only optimizer it knows."""
        named = set(self._named(block, 0, cls))
        known = {slot for slot, _ in named}
        consumed = {slot for slot, kind in named if kind is Kind.CONSUME} - self._file.attached
        several = {slot for slot in consumed if picks_several(block, slot, self._program.body_of)}
        return [(slot, len(known) == 1) for slot in sorted(consumed - several)]

    def _shared(self, block: Block, slots: list[tuple[str, bool]], cls: Scope | None) -> Unclaimed | None:
        """Where several optimizers are known and all of them step: what is a fault for each of them."""
        known = {slot for slot, _ in self._named(block, 0, cls)} if len(slots) > 1 else set()
        return Unclaimed(len(slots)) if known and len(known) == len(slots) else None

    def _named(self, block: Block, depth: int, cls: Scope | None) -> Iterator[tuple[str, Kind | None]]:
        """Every slot that is named, with what happens to it, as this block calls it where `self` is of class `cls`."""
        parts_of = self._file.parts_of
        yield from ((act.slot, act.kind) for act in parts_of(block, Act) if act.slot is not None)
        yield from ((made.slot, None) for made in parts_of(block, Create) if not made.inside)
        for one in parts_of(block, Call) if depth < _DEPTH else ():
            call = one.on(cls)
            key = (call.function, call.cls, depth)
            if key not in self._names:
                self._names[key] = frozenset()  # a function that calls itself names nothing new
                inside = self._program.body_of(call.function)
                self._names[key] = frozenset(self._named(inside, depth + 1, call.cls))
            for slot, kind in self._names[key]:
                outside = call.outside(slot)
                if outside is not None:
                    yield outside, kind
