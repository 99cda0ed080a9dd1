"""One file: its scopes, and the skeletons of its functions, made when they are asked for."""

import ast

from zerograd.source.lowering.calls import CallReader
from zerograd.source.lowering.lower import FunctionLowering
from zerograd.source.lowering.skeleton import Block
from zerograd.source.names.bindings import Roots, bind_module
from zerograd.source.names.hooks import calls_hook
from zerograd.source.names.probes import inputs_of
from zerograd.source.names.relevance import hands_on, read_relevance
from zerograd.source.names.scopes import Elsewhere, Function, FunctionNode, Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import Nodes
from zerograd.source.text.paths import path_of

_LONGEST = 20_000  # nodes of one function, some 3,000 lines: more is generated, and would hold up the check


class Program:
    """Lowers the functions of one file, each at most once. Its module's scope knows it, for whoever imports them."""

    def __init__(
        self,
        tree: ast.Module,
        text: str,
        path: str,
        *,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.tree = tree
        self.path = path
        self.text = text
        self.roots: Roots = bind_module(tree, elsewhere)
        self.roots.module.home = self
        relevance = read_relevance(tree, text, self.roots.functions)
        self.relevant = relevance.functions
        self._blocks: dict[ast.AST, Block] = {}
        self._nodes: dict[ast.AST, Nodes] = {}
        self._calls: dict[str, list[tuple[ast.AST, Scope, ast.Call]]] = {}  # by the last word of what is called
        self.has_several = relevance.has_several  # optimizers
        self._asks_inputs = "requires_grad" in text
        self.copies = "deepcopy" in text
        self.roots.module.old = ".data[0]" in text or "volatile=True" in text
        self.calls = CallReader(path, by_manner=relevance.by_manner, scales=".scale(" in text, idle=self._is_idle)

    def calls_named(self, name: str) -> list[tuple[ast.AST, Scope, ast.Call]]:
        """The calls of what has this last word, and the functions they stand in: those that do not write it are not
        even listed."""
        found = self._calls.get(name)
        if found is None:
            found = self._calls[name] = []
            writing = [one for one in self.roots.functions if name in within(self.text, one.node)]
            roots: list[tuple[ast.AST, Scope]] = [(self.tree, self.roots.module), *writing]
            for node, scope in roots:
                for call in self.nodes(node).of(ast.Call):
                    func = call.func
                    last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
                    if last == name and path_of(func) is not None:
                        found.append((node, scope, call))
        return found

    def body_of(self, function: Function) -> Block:
        """The skeleton of a function of this file, or of one that it imports."""
        home = function.scope.module.home
        return home.function(function) if home is not None else ()

    def function(self, function: Function) -> Block:
        node = function.node
        block = self._blocks.get(node)
        if block is None:
            does = self.does_something(function)
            block = self._blocks[node] = self._lowered(node, node.body, function.scope) if does else ()
        return block

    def path_of(self, function: Function) -> str:
        """The file that a function of the project stands in."""
        home = function.scope.module.home
        return self.path if home is None else home.path

    def does_something(self, function: Function) -> bool:
        """Whether a function of this file may touch a gradient, itself or through what it calls."""
        if function.node in self.relevant:
            return True
        return hands_on(function, self.nodes) or calls_hook(function, self.nodes)

    def _is_idle(self, function: Function) -> bool:
        """Whether nothing in a function of the project touches a gradient, as in a forward pass."""
        home = function.scope.module.home
        return home is not None and not home.does_something(function)

    def nodes(self, function: ast.AST) -> Nodes:
        """The function's own nodes, listed once."""
        nodes = self._nodes.get(function)
        if nodes is None:
            nodes = self._nodes[function] = Nodes(function)
        return nodes

    @property
    def module(self) -> Block:
        if self.tree not in self._blocks:
            matters = self.tree in self.relevant
            body = self._lowered(self.tree, self.tree.body, self.roots.module) if matters else ()
            self._blocks[self.tree] = body
        return self._blocks[self.tree]

    def lowered(self, node: FunctionNode, scope: Scope) -> Block:
        """The skeleton of a function that was put together of others."""
        return self._lowered(node, node.body, scope)

    def _lowered(self, node: ast.Module | FunctionNode, body: list[ast.stmt], scope: Scope) -> Block:
        if len(self.nodes(node)) > _LONGEST:
            return ()
        scope.settle()
        own = self.nodes(node)
        inputs = inputs_of(node, own, scope) if self._asks_inputs else frozenset[str]()
        return FunctionLowering(node, own, scope, self.calls, self.path, inputs).whole(body)
