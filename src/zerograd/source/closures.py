"""A closure that an optimizer calls again and again inside its step."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.frames import BodyOf
from zerograd.source.reading import Reading
from zerograd.source.scopes import path_of
from zerograd.source.skeleton import Act, Block, Blur, Call, walk

_DEPTH = 4


def detect(function: Reading) -> Iterator[Finding]:
    """optimizer.step(closure) with a closure of this project that deposits and does not clear."""
    cleared = bool(function.having(Kind.CLEAR))
    for act in function.having(Kind.CONSUME):
        if act.scaled or not isinstance(act.node, ast.Call) or not act.node.args:
            continue
        name = _called(act.node.args[0])
        closure = function.scope.function(name) if name else None
        if closure is None:
            continue
        kinds = set(_kinds(function.file.program.body_of(closure), function.file.program.body_of, _DEPTH))
        if Kind.DEPOSIT in kinds and Kind.CLEAR not in kinds:
            # LBFGS evaluates its closure many times in one step: no clear outside it is enough.
            certain = not cleared or _evaluates_often(act.slot, function)
            yield note(REGISTRY["ZG009"], act.site, certain=certain, step=act.what)


def _called(given: ast.expr) -> str | None:
    """The function that a closure is: by name, or `lambda: closure(model, x)`."""
    return path_of(given.body.func if isinstance(given, ast.Lambda) and isinstance(given.body, ast.Call) else given)


def _kinds(block: Block, body_of: BodyOf, depth: int) -> Iterator[Kind]:
    """What a block does or may do, also in what it calls."""
    for node in walk(block):
        if isinstance(node, Act):
            yield node.kind
        elif isinstance(node, Blur):
            yield from node.kinds
        elif isinstance(node, Call):
            yield from _kinds(body_of(node.function), body_of, depth - 1) if depth else ALL_DOUBTS


def _evaluates_often(slot: str | None, function: Reading) -> bool:
    binding = function.scope.lookup(slot) if slot is not None else None
    return binding is not None and binding.made_by.endswith("LBFGS")
