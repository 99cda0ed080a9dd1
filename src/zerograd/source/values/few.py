"""Loops that run a few times: over repetitions, over what is listed, or over the networks of one program.

What such a loop keeps is what one step keeps: it is let go of with the step.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.source.text.nodes import written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import LoopNode, Reading

_DATA = pattern(r"batch|iter|epoch|len\(|(^|\W)len_|_len\b|steps?\b|size|(^|\W|_)n(um)?_(train|samples?|data)\b")
# As many networks as there are.
_NETWORKS = pattern(
    r"len\((self\.)?\w*(nets?|models?|disc\w*|heads?|experts|agents|clients|tasks|scales|optimizers)[A-Z]?\)"
)
_COUNTED = pattern(r"len\([^)]*(load|data|iter|batch|train|sample|image|file)")
_SEVERAL = pattern(
    r"(^|[._])(nets|networks|models|discs|discriminators|generators|critics|actors|heads|experts|agents|clients|workers"
    r"|tasks|modalities|names|keys|domains|fields|scales|levels|stages|layers|branches|members|ensemble|views|optimizers|optims|opts|micro_?batches|chunks)$",
    re.IGNORECASE,
)
_OF_DATA = pattern(r"train|valid|test|data|load|file|image")
_MANY = 50  # repetitions are fewer


def counts_to_few(loop: LoopNode, function: Reading) -> bool:
    """for _ in range(n): an inner loop over repetitions, not over the data nor the epochs; or over what is listed."""
    if not isinstance(loop, ast.For):
        return False
    listed = [one.value for one in definitions_of(function).every(path_of(loop.iter) or "")] or [loop.iter]
    if all(map(_is_listed, listed)) or any(map(_is_of_networks, _iterated(loop.iter))):
        return True
    if not isinstance(loop.iter, ast.Call) or path_of(loop.iter.func) != "range":
        return False
    if any(_NETWORKS.search(written(bound)) for bound in loop.iter.args):
        return True
    made = [one.value for bound in loop.iter.args for one in definitions_of(function).every(path_of(bound) or "")]
    counted = any(_COUNTED.search(written(value).lower()) for value in made)
    return not counted and not any(_DATA.search(written(bound).lower()) or _is_many(bound) for bound in loop.iter.args)


def _is_listed(value: ast.expr) -> bool:
    """["audio", "video"]; and not what a list begins with"""
    if isinstance(value, ast.IfExp):
        return _is_listed(value.body) and _is_listed(value.orelse)
    return isinstance(value, ast.List | ast.Tuple) and 0 < len(value.elts) < _MANY


def _is_many(bound: ast.expr) -> bool:
    if isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Mult):
        return _is_many(bound.left) or _is_many(bound.right)
    return isinstance(bound, ast.Constant) and isinstance(bound.value, int) and bound.value >= _MANY


def _iterated(over: ast.expr) -> Iterator[ast.expr]:
    """What a loop goes through: both of zip(nets, optimizers), nets of enumerate(nets) and nets.items()."""
    match over:
        case ast.Call(func=ast.Name(id="zip" | "enumerate" | "reversed" | "list"), args=args):
            yield from (one for given in args for one in _iterated(given))
        case ast.Call(func=ast.Attribute(value=inner, attr="items" | "values" | "keys"), args=[]):
            yield inner
        case _:
            yield over


def _is_of_networks(over: ast.expr) -> bool:
    """critics, self.heads; x.chunk(4)"""
    match over:
        case ast.Call(func=ast.Attribute(attr="chunk")):
            return True
    path = path_of(over) or ""
    return _SEVERAL.search(path) is not None and _OF_DATA.search(path) is None
