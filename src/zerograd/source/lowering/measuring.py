"""Loops that only measure: over a test set, under no_grad(), behind model.eval().

A clip that was copied into one from the training loop shortens gradients that nobody will use, and does no harm.
"""

import ast
from collections.abc import Callable

from zerograd.core.events import Kind
from zerograd.source.lowering.skeleton import FORKS, Act, Block, Blur, Call, walk
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import Nodes, holds, written
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import looks_away

_MEASURES = pattern(r"(^|[^a-z])(vals?|valid\w*|tests?|testing|testset|eval\w*|dev|infer\w*|hold_?out)([^a-z]|$)")
_JOINED = pattern(r"(val|valid|test|eval|dev)_?(loader|dataloader|iter|set|data|dl|gen)")


def without_clips(
    body: Block, loop: ast.AST, function: ast.AST, own: Nodes, is_idle: Callable[[Function], bool]
) -> Block:
    """The body of a loop; of one that only measures, without its clips."""
    nodes = list(walk(body))
    kinds = {node.kind for node in nodes if isinstance(node, Act)}
    if Kind.CLIP not in kinds or kinds & {Kind.DEPOSIT, Kind.CONSUME}:
        return body
    if any(isinstance(node, Blur) or (isinstance(node, Call) and not is_idle(node.function)) for node in nodes):
        return body
    if not _measures(loop, function, own):
        return body
    return _without(body)


def of_round(body: Block) -> Block:
    """A round of a loop over a few words; of one that neither goes backward nor steps, without its clips too."""
    nodes = list(walk(body))
    kinds = {node.kind for node in nodes if isinstance(node, Act)}
    idle = Kind.CLIP in kinds and not kinds & {Kind.DEPOSIT, Kind.CONSUME}
    return _without(body) if idle and not any(isinstance(node, Call | Blur) for node in nodes) else body


def _without(block: Block) -> Block:
    kept = (node for node in block if not (isinstance(node, Act) and node.kind is Kind.CLIP))
    return tuple(
        node._replace(body=_without(node.body), orelse=_without(node.orelse)) if isinstance(node, FORKS) else node
        for node in kept
    )


def _measures(loop: ast.AST, function: ast.AST, own: Nodes) -> bool:
    over = written(loop.iter).lower() if isinstance(loop, ast.For | ast.AsyncFor) else ""
    if any(pattern.search(name) for name in (over, _name(function)) for pattern in (_MEASURES, _JOINED)):
        return True
    quiet = [item.context_expr for block in own.of(ast.With) if holds(block, loop) for item in block.items]
    if any(looks_away(written(one)) for one in (*quiet, *getattr(function, "decorator_list", ()))):
        return True
    calls = [(call.lineno, call.func.attr) for call in own.of(ast.Call) if isinstance(call.func, ast.Attribute)]
    before = [attr for line, attr in sorted(calls) if attr in ("train", "eval") and line <= getattr(loop, "lineno", 0)]
    return before[-1:] == ["eval"]


def _name(function: ast.AST) -> str:
    return getattr(function, "name", "").lower()
