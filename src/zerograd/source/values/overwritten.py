"""Which names of a function may get another graph than that of what they are assigned: by a change in place, or by
somebody they are handed to."""

import ast
import re
from collections.abc import Iterator

from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import BUILTINS
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading

_LEAF = pattern(r"(?<!clip_)(?<!zero_)grad|leaf|track|trainable|param", re.IGNORECASE)
_TELLS = pattern(r"log|print|plot|save|show|record|meter|writ|draw|display|report|summar", re.IGNORECASE)


def overwritten(function: Reading) -> frozenset[str]:
    found = {*_changed(function), *_filled(function), *_asked(function)}
    every = definitions_of(function).every
    views = [one.value for name in found for one in every(name) if isinstance(one.value, ast.Subscript | ast.Attribute)]
    return frozenset(found.union(*map(_names, views)))  # half = canvas[:4]; half.copy_(x)


def _changed(function: Reading) -> Iterator[str]:
    """canvas.masked_scatter_(mask, x), canvas[0].copy_(x); not x.clamp_(0, 1)."""
    for call in function.of(ast.Call):
        match call.func:
            case ast.Attribute(value=value, attr=attr) if attr.endswith("_") and attr != "requires_grad_":
                given = (*call.args, *(one.value for one in call.keywords))
                yield from _names(value) if not all(isinstance(one, ast.Constant) for one in given) else ()


def _filled(function: Reading) -> Iterator[str]:
    """fill(canvas, x): a function that returns nothing changes something, if it tells nobody of it."""
    for statement in function.of(ast.Expr):
        call = statement.value
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else None
        if isinstance(call, ast.Call) and name is not None and not (name in BUILTINS or _TELLS.search(name)):
            named = [one.id for one in call.args if isinstance(one, ast.Name)]
            yield from named if len(named) > 1 else ()


def _asked(function: Reading) -> Iterator[str]:
    """set_requires_grad(latent, True)"""
    for statement in function.of(ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and _LEAF.search((path_of(call.func) or "").rpartition(".")[2]):
            for one in (*call.args, *(named.value for named in call.keywords)):
                yield from _names(one)


def _names(node: ast.AST) -> set[str]:
    """The names, and of an object's own the whole path."""
    parts = below(node)
    own = {path for part in parts if isinstance(part, ast.Attribute) and (path := path_of(part) or "")[:5] == "self."}
    return {part.id for part in parts if isinstance(part, ast.Name) and part.id != "self"} | own
