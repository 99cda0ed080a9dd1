"""Backwards that are meant for an input: attacks, saliency maps, walks through a latent space.

    x.requires_grad = True
    cost = criterion(self.model(x), y)
    cost.backward()                       # for x.grad, and into every parameter of the model as well
    x = x + step * x.grad.sign()

A loss that is deposited for both at once (free adversarial training) is followed by a step and by no other backward:
such a deposit is the objective itself, and no probe.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.source.names.scopes import Role, Scope
from zerograd.source.text.nodes import Nodes, place
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_ATTACKS = pattern(r"attack|perturb|fgsm|pgd", re.IGNORECASE)


def inputs_of(function: ast.AST, nodes: Nodes, scope: Scope) -> frozenset[str]:
    """The tensors that all backwards of a function are meant for: it reads their gradients behind each, or steps them.

    One that deposits once more, with nothing read behind, has an objective of its own; so has one that wants the graph
    of the gradient, or steps an optimizer which it was given.
    """
    if not isinstance(function, ast.FunctionDef):
        return frozenset()
    marked = frozenset(_marked(nodes)) - {path_of(loop.target) for loop in nodes.of(ast.For)}
    if not marked:
        return frozenset()
    calls = [(call, path_of(call.func) or "") for call in nodes.of(ast.Call)]
    stepped: set[str | None] = set()
    for call, path in calls:
        if path.endswith(".step") and not _is_own(path.removesuffix(".step"), scope):
            return frozenset()
        if call.args and isinstance(call.args[0], ast.List) and scope.dotted(path).startswith("torch.optim."):
            stepped |= {path_of(element) for element in call.args[0].elts}
    deposits = [call for call in nodes.of(ast.Call) if isinstance(call.func, ast.Attribute) and _deposits(call.func)]
    if not deposits or any(keyword.arg == "create_graph" for call in deposits for keyword in call.keywords):
        return frozenset()
    reads = [node for node in nodes.of(ast.Attribute) if node.attr == "grad" and path_of(node.value) in marked]
    read = {path_of(node.value) for node in reads}
    if reads and all(place(call)[1] < max(place(node)[0] for node in reads) for call in deposits):
        return marked & (read | stepped)
    if not read and _ATTACKS.search(function.name):
        stepped |= {path_of(node.value) for node in nodes.of(ast.Return) if node.value is not None}
    return marked & stepped if not read else frozenset()


def _deposits(func: ast.Attribute) -> bool:
    return func.attr == "backward"


def _marked(nodes: Nodes) -> Iterator[str]:
    """The names that are told to require a gradient: what an object keeps may be a parameter."""
    for node in nodes.of(ast.Assign):
        value = node.value
        for target in node.targets:
            asks = isinstance(target, ast.Attribute) and target.attr == "requires_grad" and _is_true(value)
            leaf = target.value if asks and isinstance(target, ast.Attribute) else target
            if isinstance(leaf, ast.Name) and (asks or _requires_grad(value)):
                yield leaf.id
    for call in nodes.of(ast.Call):
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr="requires_grad_") if all(map(_is_true, call.args)):
                yield name


def _requires_grad(value: ast.expr) -> bool:
    """x.detach().requires_grad_(), torch.zeros_like(x, requires_grad=True), Variable(x, requires_grad=True)."""
    match value:
        case ast.Call(func=ast.Attribute(attr="requires_grad_"), args=args):
            return all(map(_is_true, args))
        case ast.Call(keywords=keywords):
            return any(keyword.arg == "requires_grad" and _is_true(keyword.value) for keyword in keywords)
    return False


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _is_own(path: str, scope: Scope) -> bool:
    binding = scope.bindings.get(path)
    return binding is not None and binding.role is Role.OPTIMIZER
