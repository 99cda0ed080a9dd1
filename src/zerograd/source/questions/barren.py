"""Can anybody learn from the loss that a function hands back? Nobody can of copies that it told to take a gradient."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Site
from zerograd.source.execute.execution import Context, Execution
from zerograd.source.execute.gradients import is_dead_end
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.values import Graph, Value


def barren(ex: Execution) -> Iterator[Site]:
    """Where a function hands back nothing but losses whose graph ends in copies of its own, which nobody else knows."""
    for returns in _by_function(ex).values():
        told = [(one, value) for node in returns for one, value in ex.handed_back[node].items() if _is_told(value)]
        if told and all(_is_barren(ex, value, context) for context, value in told):
            last = max(returns, key=lambda node: node.lineno)
            end_line, end_column = last.end_lineno or last.lineno, last.end_col_offset or last.col_offset
            yield Site(ex.main.path, last.lineno, last.col_offset + 1, end_line, end_column + 1)


def _by_function(ex: Execution) -> dict[ast.AST, list[ast.Return]]:
    """The returns of the functions of the file itself that were reached."""
    found: dict[ast.AST, list[ast.Return]] = {}
    for function in ex.main.functions:
        if function in ex.entered:
            for node in ast.walk(function.node):
                if isinstance(node, ast.Return) and node in ex.handed_back:
                    found.setdefault(function.node, []).append(node)
    return found


def _is_told(value: Value) -> bool:
    return bool(value.graph or value.objects)


def _is_barren(ex: Execution, value: Value, context: Context) -> bool:
    is_loss = value.graph is Graph.LIVE and bool(value.reduction) and not value.objects
    return is_loss and bool(value.made_of) and all(_is_lost(ex, one, context) for one in value.made_of)


def _is_lost(ex: Execution, leaf: Obj, context: Context) -> bool:
    copied = leaf.kind is ObjectKind.LEAF and leaf.site is not None and (leaf.many or bool(leaf.copied_from))
    return copied and leaf.key[-1] is context and is_dead_end(ex, leaf) and leaf not in ex.leaves_kept
