"""Counters that are counted up in several arms of one branch, of which a run takes always the same.

for batch in loader:
    if args.algorithm == "ppo":
        ...
        count += 1
    elif args.algorithm == "pg":
        ...
        count += 1

In each arm it counts the iterations, as if the others were not there: what the branch asks must be a setting, which
nothing in the function changes, and nothing may be deposited beside the arms that count.
"""

import ast

from zerograd.source.text.nodes import Nodes, below
from zerograd.source.text.paths import path_of

_FEW = 6  # arms
Arms = tuple[tuple[int, int, int], ...]  # of each the first line, the last one, and that of the increment
_OF_TEXT = frozenset({"lower", "upper", "startswith", "endswith", "strip"})


def counting_arms(increments: list[ast.AugAssign | ast.Assign], top: ast.If, nodes: Nodes) -> Arms:
    """Where each of them counts; nothing unless all are direct parts of different arms of the branch `top`."""
    arms, tests = _chain(top)
    found: list[tuple[int, int, int]] = []
    for increment in increments:
        its = [arm for arm in arms if any(one is increment for one in arm)]
        found += [(arm[0].lineno, arm[-1].end_lineno or 0, increment.lineno) for arm in its]
    distinct = len(set(found)) == len({first for first, _, _ in found}) == len(increments) <= _FEW
    return tuple(found) if distinct and all(_is_setting(test, nodes) for test in tests) else ()


def deposits_beside(loop: ast.AST, arms: Arms) -> bool:
    """Whether a loop goes backward somewhere else than in the arms that count, or nowhere."""
    calls = [node for node in below(loop) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    lines = [call.lineno for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "backward"]
    return not lines or not all(any(first <= line <= last for first, last, _ in arms) for line in lines)


def _chain(top: ast.If) -> tuple[list[list[ast.stmt]], list[ast.expr]]:
    """The arms of if, elif and else, and what is asked."""
    arms, tests = [top.body], [top.test]
    while len(top.orelse) == 1 and isinstance(top.orelse[0], ast.If):
        top = top.orelse[0]
        arms.append(top.body)
        tests.append(top.test)
    return [*arms, top.orelse] if top.orelse else arms, tests


def _is_setting(test: ast.expr, nodes: Nodes) -> bool:
    """Whether the answer stays what it was: it asks for names that the function does not set, and calls nothing."""
    calls = [node.func for node in below(test) if isinstance(node, ast.Call)]
    if not all(isinstance(func, ast.Attribute) and func.attr in _OF_TEXT for func in calls):
        return False
    asked = {path for node in below(test) if (path := path_of(node)) is not None}
    stored: list[ast.Name | ast.Attribute] = [*nodes.of(ast.Name), *nodes.of(ast.Attribute)]
    return asked.isdisjoint(path_of(node) for node in stored if isinstance(node.ctx, ast.Store))
