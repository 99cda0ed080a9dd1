"""Loops over a few words, each round another: `for phase in ["train", "val"]`, and inside it `if phase == "train"`.

Such a loop is its rounds, one after the other, and each knows its word: no round that trains follows another that
trains before the one that evaluates. Where a round may be left or skipped, or the word is changed, it is a loop as any.
"""

import ast
from collections.abc import Iterator

from zerograd.source.counting.tests import Keys
from zerograd.source.text.nodes import below

_MOST = 4  # words
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def turns_of(loop: ast.stmt, keys: Keys) -> list[str]:
    """What is so in each round, as tests ask for it; nothing, if none asks."""
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.List(elts=items) | ast.Tuple(elts=items), orelse=[]):
            words = [one.value for one in items if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            turns = list(dict.fromkeys(f"{name} == {word!r}" for word in words))
            asked = not set(turns).isdisjoint(keys.get(name, ()))
            if asked and 1 < len(turns) == len(items) <= _MOST and not _is_left(loop.body) and not _changes(loop, name):
                return turns
    return []


def _is_left(statements: list[ast.stmt]) -> bool:
    """break or continue, of this loop and not of one inside it"""
    return any(isinstance(node, ast.Break | ast.Continue) for node in _own(statements))


def _own(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in statements:
        yield node
        if not isinstance(node, (*_LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
            blocks += [part.body for part in (*getattr(node, "handlers", []), *getattr(node, "cases", []))]
            for block in blocks:
                yield from _own(block)


def _changes(loop: ast.For, name: str) -> bool:
    stored = (node for part in loop.body for node in below(part) if isinstance(node, ast.Name))
    return any(node.id == name and not isinstance(node.ctx, ast.Load) for node in stored)
