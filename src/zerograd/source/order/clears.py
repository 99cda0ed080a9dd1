"""Clears that do more work than is asked for: zeros that nobody reads, and the same clear twice."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act, Attempt, Block, Choice, Jump, Loop, walk
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File, Reading

# Captured graphs and some wrappers keep the addresses of gradients; other code reads a gradient that may not be None.
_NEEDS_ZEROS = pattern(
    r"(?<!autograd)\.grad\b|_grad\b\.|[gG]raph|capture|compile|apex|xla|deepspeed|[aA]ccelerat|fsdp|FullyShard"
)


def detect(function: Reading) -> Iterator[Finding]:
    if function.file.says("set_to_none"):
        yield from _zeros(function)
    if len(function.having(Kind.CLEAR)) > 1:
        yield from _twice(function, function.block)


def keeps_zeros(call: ast.Call) -> bool:
    """zero_grad(set_to_none=False), zero_grad(False)"""
    values = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "set_to_none")]
    return any(isinstance(value, ast.Constant) and value.value is False for value in values)


def _zeros(function: Reading) -> Iterator[Finding]:
    for act in function.having(Kind.CLEAR):
        if isinstance(act.node, ast.Call) and keeps_zeros(act.node) and not _may_need_zeros(function.file):
            clear = f"{act.what[:-1]}set_to_none=False)"
            yield note(REGISTRY["ZG401"], act.site, certain=True, clear=clear)


def _may_need_zeros(file: File) -> bool:
    return _NEEDS_ZEROS.search(file.text) is not None


def _twice(function: Reading, block: Block) -> Iterator[Finding]:
    """A clear behind a clear of the same gradients, with nothing in between that could have filled them."""
    last: Act | None = None
    for node in block:
        match node:
            case Act(kind=Kind.CLEAR) if _whole(node):
                if last is not None and _same(last, node, function):
                    yield _note(node, last, function)
                last = node
            case Choice() | Loop() | Attempt() if not _touches(node):
                pass
            case Loop(body=body):
                yield from _twice(function, body)
                yield from _around_the_loop(node, function)
                last = None
            case Choice(body=body, orelse=orelse):
                yield from _twice(function, body)
                yield from _twice(function, orelse)
                last = None
            case Attempt():
                for part in (node.body, *node.handlers, node.orelse, node.final):
                    yield from _twice(function, part)
                last = None
            case _:
                last = None


def _around_the_loop(loop: Loop, function: Reading) -> Iterator[Finding]:
    """The last thing an iteration does is to clear, and so is the first thing the next one does."""
    first, last = (loop.body[0], loop.body[-1]) if loop.body else (None, None)
    if isinstance(first, Act) and isinstance(last, Act) and first is not last and _whole(first) and _whole(last):
        jumps = any(isinstance(node, Jump) for node in walk(loop.body))
        if not jumps and _same(last, first, function):
            yield _note(first, last, function)


def _note(act: Act, earlier: Act, function: Reading) -> Finding:
    other = f"{earlier.what} on line {earlier.site.line}"
    related = (Related(earlier.site, "they are cleared here"),)
    return note(REGISTRY["ZG403"], act.site, certain=True, related=related, clear=act.what, other=other)


def _whole(act: Act) -> bool:
    """zero_grad() on one optimizer or one model that has a name."""
    receiver = _receiver(act)
    return act.kind is Kind.CLEAR and not act.partial and receiver is not None and "[*]" not in receiver


def _receiver(act: Act) -> str | None:
    match act.node:
        case ast.Call(func=ast.Attribute(value=value, attr="zero_grad")):
            return act.slot or path_of(value)
    return None


def _same(one: Act, other: Act, function: Reading) -> bool:
    """One optimizer twice, one model twice, or a model and then the optimizer of its parameters, all or some."""
    first, second = _receiver(one), _receiver(other)
    binding = function.scope.lookup(other.slot) if other.slot is not None and one.slot is None else None
    return first == second or (binding is not None and binding.over == (first,))


def _touches(node: Choice | Loop | Attempt) -> bool:
    """Anything may happen in there: an event, a call, a way out."""
    return any(not isinstance(inner, Choice | Loop | Attempt) for inner in walk((node,)))
