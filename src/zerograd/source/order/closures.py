"""A closure that an optimizer calls again and again inside its step."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act, Blur, Call, walk
from zerograd.source.names.scopes import Function
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading
from zerograd.source.walking.frames import BodyOf

_DEPTH = 4
_Known = dict[tuple[Function, int], tuple[set[Kind], set[Kind]]]


def detect(function: Reading) -> Iterator[Finding]:
    """optimizer.step(closure) with a closure of this project that deposits and does not clear."""
    cleared = bool(function.having(Kind.CLEAR))
    known: _Known = {}
    for act in function.having(Kind.CONSUME):
        if act.scaled or not isinstance(act.node, ast.Call) or not act.node.args:
            continue
        name = _called(act.node.args[0])
        closure = function.scope.function(name) if name else None
        if closure is None:
            continue
        done, doubted = _kinds(closure, function.file.program.body_of, _DEPTH, known)
        if Kind.DEPOSIT in done and Kind.CLEAR not in done | doubted:
            # LBFGS evaluates its closure many times in one step: no clear outside it is enough.
            certain = not cleared or _evaluates_often(act.slot, function)
            yield note(REGISTRY["ZG009"], act.site, certain=certain, step=act.what)


def _called(given: ast.expr) -> str | None:
    """The function that a closure is: by name, or `lambda: closure(model, x)`."""
    return path_of(given.body.func if isinstance(given, ast.Lambda) and isinstance(given.body, ast.Call) else given)


def _kinds(function: Function, body_of: BodyOf, depth: int, known: _Known) -> tuple[set[Kind], set[Kind]]:
    """What a function does, and what it may do; also in what it calls. `known`: what was worked out before."""
    if depth < 0:
        return set(), set(ALL_DOUBTS)
    if (function, depth) in known:
        return known[function, depth]
    done, doubted = set[Kind](), set[Kind]()
    for node in walk(body_of(function)):
        match node:
            case Act(kind=kind):
                done.add(kind)
            case Blur(kinds=kinds):
                doubted |= kinds
            case Call(function=called):
                inner = _kinds(called, body_of, depth - 1, known)
                done, doubted = done | inner[0], doubted | inner[1]
    known[function, depth] = done, doubted
    return done, doubted


def _evaluates_often(slot: str | None, function: Reading) -> bool:
    binding = function.scope.lookup(slot) if slot is not None else None
    return binding is not None and binding.made_by.endswith("LBFGS")
