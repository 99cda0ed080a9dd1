"""One file: its scopes, and the skeletons of its functions, made when they are asked for."""

import ast

from zerograd.source.bindings import FunctionNode, Roots, Scope, bind_module
from zerograd.source.calls import CallReader
from zerograd.source.lower import FunctionLowering
from zerograd.source.nodes import own_nodes
from zerograd.source.relevance import read_relevance
from zerograd.source.skeleton import Block


class Program:
    """Lowers the functions of one file, each at most once."""

    def __init__(self, tree: ast.Module, path: str) -> None:
        self.tree = tree
        self.path = path
        relevance = read_relevance(tree)
        self.relevant = relevance.functions
        self.roots: Roots = bind_module(tree) if self.relevant else Roots(Scope(), [])
        self._scopes = dict(self.roots.functions)
        self._blocks: dict[ast.AST, Block] = {}
        self._nodes: dict[ast.AST, list[ast.AST]] = {}
        self.calls = CallReader(path, scope_of=self._scopes.__getitem__, by_manner=relevance.by_manner)

    def function(self, node: FunctionNode) -> Block:
        return self._lowered(node, node.body, self._scopes[node])

    def nodes(self, function: ast.AST) -> list[ast.AST]:
        """The function's own nodes, listed once."""
        if function not in self._nodes:
            self._nodes[function] = own_nodes(function)
        return self._nodes[function]

    @property
    def module(self) -> Block:
        return self._lowered(self.tree, self.tree.body, self.roots.module)

    def _lowered(self, node: ast.Module | FunctionNode, body: list[ast.stmt], scope: Scope) -> Block:
        if node not in self.relevant:
            return ()
        if node not in self._blocks:
            self._blocks[node] = FunctionLowering(node, self.nodes(node), scope, self.calls, self.path).whole(body)
        return self._blocks[node]
