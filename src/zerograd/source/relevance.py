"""Which functions of a file have to do with gradients: those that name a trigger, and those that call them.

One pass over the tree. Everything else is never lowered, and most of a file is everything else.
"""

import ast
from collections.abc import Sequence
from typing import NamedTuple

from zerograd.source.nodes import children
from zerograd.source.scopes import FunctionNode, path_of

_TRIGGERS = frozenset(
    {
        "step",
        "backward",
        "manual_backward",
        "zero_grad",
        "unscale_",
        "grad",
        "clip_grad_norm_",
        "clip_grad_value_",
        "clip_grad_norm",
        "clip_grad_value",
        "clip_gradients",
    }
)


class Relevance(NamedTuple):
    functions: frozenset[ast.AST]  # and the module, if its own statements do something to a gradient
    has_several: bool  # several paths are stepped
    by_manner: frozenset[str]  # paths that are both stepped and cleared: whatever they are called, they are optimizers


def read_relevance(tree: ast.Module) -> Relevance:
    index = _Index()
    index.visit(tree, tree)
    manner = frozenset(index.named["step"] & index.named["zero_grad"]) - {""}
    several = len({path for path in index.named["step"] if "sched" not in path and "scaler" not in path}) > 1
    return Relevance(_closure(index), several, manner)


def hands_on(nodes: Sequence[ast.AST], parameters: Sequence[str]) -> bool:
    """Whether a function that names no event passes an optimizer or a scaler on to one that may."""
    handed = {name for name in parameters if "opt" in name.lower() or "scaler" in name.lower()}
    return bool(handed) and any(
        isinstance(argument, ast.Name) and argument.id in handed
        for node in nodes
        if isinstance(node, ast.Call)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def _closure(index: "_Index") -> frozenset[ast.AST]:
    relevant = set(index.triggered)
    names = {node.name for node in relevant if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    while True:  # who calls a relevant name is relevant
        more = {node for node, called in index.called.items() if node not in relevant and not called.isdisjoint(names)}
        if not more:
            return frozenset(relevant)
        relevant |= more
        names |= {node.name for node in more if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


class _Index:
    def __init__(self) -> None:
        self.triggered: set[ast.AST] = set()
        self.called: dict[ast.AST, set[str]] = {}
        self.named: dict[str, set[str]] = {"step": set(), "zero_grad": set()}

    def visit(self, node: ast.AST, function: "ast.Module | FunctionNode") -> None:
        """Everything below `node`, on behalf of the function it stands in."""
        called = self.called.setdefault(function, set())
        stack: list[ast.AST] = [node]
        while stack:
            current = stack.pop()
            for child in children(current):
                kind = type(child)
                if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
                    self.visit(child, child)  # type: ignore[arg-type]
                    continue
                if kind is ast.Attribute:
                    name = child.attr  # type: ignore[attr-defined]
                    called.add(name)
                    if name in _TRIGGERS:
                        self.triggered.add(function)
                    if name in self.named:
                        self.named[name].add(path_of(child.value) or "")  # type: ignore[attr-defined]
                elif kind is ast.Name:
                    name = child.id  # type: ignore[attr-defined]
                    called.add(name)
                    if name in _TRIGGERS or "scaler" in name:
                        self.triggered.add(function)
                stack.append(child)
