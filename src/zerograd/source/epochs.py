"""Functions that train for one epoch and move the schedule first: def train(epoch): scheduler.step(); for x in loader:

Nobody need be seen to call them: in the first call nothing has stepped. A schedule that is moved once before a whole
training may be meant to be (a warm-up that begins at zero), and so is one that is moved from some epoch on.
"""

import ast
import re

from zerograd.core.events import Kind
from zerograd.source.nodes import Nodes, holds, place, written
from zerograd.source.paths import path_of
from zerograd.source.skeleton import Act, Block, Call, Choice, Loop, Node, walk

_EPOCH = re.compile(r"(^|_)epoch(_\w+)?$|^ep$")
# Tests that may be answered otherwise in the first epoch.
_LATER = re.compile(r"epoch|step|iter|warm|resum|first|start|begin|count|[<>%]|\bnot\b(?! None)")


def opening(body: Block, function: ast.AST, nodes: Nodes) -> Block:
    """The function's skeleton, with a schedule that opens every epoch marked as such."""
    if not isinstance(function, ast.FunctionDef):
        return body
    moves = [act for act in walk(body) if isinstance(act, Act) and act.kind is Kind.SCHEDULE]
    if len(moves) != 1 or not _trains_one_epoch(body, function, nodes) or not _is_first(moves[0], nodes):
        return body
    return tuple(_marked(node, moves[0]) for node in body)


def _marked(node: Node, move: Act) -> Node:
    if node is move:
        return move._replace(opens=True)
    if isinstance(node, Choice) and move in node.body:
        return node._replace(body=tuple(_marked(one, move) for one in node.body))
    return node


def _trains_one_epoch(body: Block, function: ast.FunctionDef, nodes: Nodes) -> bool:
    """Whether it knows of an epoch that it does not count itself, and steps in one loop over the data."""
    arguments = function.args
    told = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    told += [node.attr for node in nodes.of(ast.Attribute)]
    loops: list[ast.For | ast.While] = [*nodes.of(ast.For), *nodes.of(ast.While)]
    if not any(map(_EPOCH.search, told)) or any("epoch" in _head(loop) for loop in loops):
        return False
    inner = [node for node in walk(body) if isinstance(node, Loop) and node.node is not function]
    stepping = [loop for loop in inner if _has(loop, Act)] or [loop for loop in inner if _has(loop, Call)]
    return len(stepping) == 1


def _head(loop: ast.For | ast.While) -> str:
    return written(loop.test) if isinstance(loop, ast.While) else f"{written(loop.target)} {written(loop.iter)}"


def _has(loop: Loop, kind: type[Act] | type[Call]) -> bool:
    """Whether it steps, itself or perhaps in what it calls."""
    found = (node for node in walk(loop.body) if isinstance(node, kind))
    return any(isinstance(node, Call) or node.kind is Kind.CONSUME for node in found)


def _is_first(move: Act, nodes: Nodes) -> bool:
    """Whether it stands in front of all loops, and waits for nothing but a schedule that is wanted."""
    loops = [*nodes.of(ast.For), *nodes.of(ast.While)]
    node = move.node
    if node is None or any(place(loop) < place(node) for loop in loops):
        return False
    around = [branch for branch in nodes.of(ast.If) if holds(branch, node)]
    schedule = path_of(node.func.value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    asked = [written(branch.test) for branch in around]
    return all(_wants(test, schedule) for test in asked) and not any(branch.orelse for branch in around)


def _wants(test: str, schedule: str | None) -> bool:
    """if scheduler:, if scheduler is not None:, if args.decay:"""
    asked = schedule is not None and test in (schedule, f"{schedule} is not None", f"{schedule} != None")
    return asked or _LATER.search(test.lower()) is None
