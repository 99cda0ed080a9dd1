"""Branches that may ask for the very thing a rule misses, in words that nobody can follow.

if self.is_last():                  # the end of the group, which the step waits for by another name
    clip_grad_norm_(...)

if accumulator.pending > 0:         # something was deposited since the last step
    optimizer.step()

What such a branch does is doubted where it matters, not judged as if it could be taken at any time. And a step that is
emptied on purpose is none.
"""

import ast

from zerograd.core.events import Kind
from zerograd.core.facts import Doubts
from zerograd.source.lowering.skeleton import Act, Block, Blur, Call, Node, leaves, walk
from zerograd.source.text.nodes import below
from zerograd.source.text.wording import saying

_STEP: Doubts = frozenset({Kind.CONSUME})
_DEPOSIT: Doubts = frozenset({Kind.DEPOSIT})
# state.sync, self.is_last(), window.full(), do_update. A setting is the same for all micro-batches: args.max_norm > 0.
_ends_group = saying(
    r"sync|last|accum|boundar|ready|complete|full|step|update|flush|(^|_)(end|done)(_|$)"
    r"|^_*(should|needs?|time_to|at_|is_(?!\w*(enabled|available|initialized|main|master|rank|cuda|train|finite|nan)))"
)
_is_pending = saying(r"pending|dirty|remain|since|has_grads?(_|$)")
# self.filled += 1, state["filled"] += 1, def is_open(self): what changes while one trains, and what an object tells.
_COUNTS = ("{} += ", "{}'] += ", '{}"] += ', "def {}(self)")


def with_doubts(test: ast.expr, body: Block, orelse: Block, text: str) -> tuple[Block, Block]:
    """The arms of a branch, with what its question may have settled. `text`: that of the file."""
    inside = walk(body)
    kinds = {act.kind for act in inside if isinstance(act, Act)}
    if Kind.CLIP in kinds and kinds.isdisjoint((Kind.DEPOSIT, Kind.CONSUME)) and _asks_for_end(test):
        return (*body, Blur(_STEP)), orelse
    if Kind.SCHEDULE in kinds and Kind.CONSUME not in kinds and _asks_later(test):
        return (Blur(_STEP), *body), orelse
    if Kind.CLEAR in kinds and leaves(body):
        body = _without_empty_steps(body)
    steps = Kind.CONSUME in kinds or any(isinstance(node, Call) for node in inside)
    if steps and Kind.DEPOSIT not in kinds:
        return ((Blur(_DEPOSIT), *body), orelse) if _asks_for_pending(test, text) else (body, orelse)
    if leaves(body) and not leaves(orelse) and _asks_for_pending(test, text):
        return body, (Blur(_DEPOSIT), *orelse)
    return body, orelse


def _without_empty_steps(body: Block) -> Block:
    """if norm > 100: opt.zero_grad(); scaler.step(opt); scaler.update(); continue. Whoever clears right before a
    scaler's step, on a way of its own, skips the step and lets the scaler know."""
    return tuple(
        node
        for before, node in zip((None, *body), body, strict=False)
        if not (_is(Kind.CLEAR, before) and _is(Kind.CONSUME, node) and isinstance(node, Act) and node.scaled)
    )


def _is(kind: Kind, node: Node | None) -> bool:
    return isinstance(node, Act) and node.kind is kind


def _asks_for_end(test: ast.expr) -> bool:
    return bool(_modulos(test)) or any(map(_ends_group, map(_word, below(test))))


def _asks_later(test: ast.expr) -> bool:
    """(i + offset) % N == 0: nobody can say whether the first iteration is one of those."""
    counters = [modulo.left for modulo in _modulos(test)]
    return any(isinstance(one, ast.BinOp) and not isinstance(one.right, ast.Constant) for one in counters)


def _modulos(test: ast.expr) -> list[ast.BinOp]:
    return [part for part in below(test) if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod)]


def _asks_for_pending(test: ast.expr, text: str) -> bool:
    """if pending, if not state["pending"], if self.filled == 0: whether there are any, of what is counted up."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=asked) | ast.Compare(left=asked, comparators=[ast.Constant(value=0)]):
            word = _word(asked)
        case _:
            word = _word(test)
    return bool(word) and (_is_pending(word) or any(form.format(word) in text for form in _COUNTS))


def _word(part: ast.AST) -> str:
    """state.pending, pending, state["pending"], state.has_pending()"""
    match part:
        case ast.Call(func=func):
            return _word(func)
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""
