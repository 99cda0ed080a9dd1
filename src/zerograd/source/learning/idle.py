"""Modules that an object makes, gives to an optimizer, and asks for nothing else: no loss of its own can reach them.

self.critic, self.decoder = Critic(), Decoder()
self.optimizer = Adam(self.critic.parameters())        # and the decoder is what every loss goes through
"""

import ast

from zerograd.source.names.opaque import is_familiar
from zerograd.source.text.nodes import Nodes
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import MODULES
from zerograd.source.values.apart import is_made_apart
from zerograd.source.values.reading import Reading

_ASKED = MODULES | {"to", "cuda", "cpu", "half", "float", "load_state_dict", "apply"}


def is_idle(function: Reading, modules: frozenset[str]) -> bool:
    """Whether all of an optimizer's modules are of this kind. A class that others may add to, or that hands itself to
    somebody, may use them in ways that are not seen."""
    cls, program = function.scope.owner, function.file.program
    if cls is None or not modules or not all(one.startswith("self.") and one.count(".") == 1 for one in modules):
        return False
    methods = [program.nodes(method.node) for one in cls.lineage() for method in one.functions.values()]
    if any(_asks(nodes, modules) for nodes in methods) or not all(map(is_familiar, cls.lineage())):
        return False
    return not any(map(_hands_itself, methods)) and all(is_made_apart(one, function) for one in modules)


def _asks(nodes: Nodes, modules: frozenset[str]) -> bool:
    """Whether a module is called, handed on, or opened."""
    asked = {id(node.value) for node in nodes.of(ast.Attribute) if node.attr in _ASKED}
    uses = [node for node in nodes.of(ast.Attribute) if path_of(node) in modules and isinstance(node.ctx, ast.Load)]
    return any(id(node) not in asked for node in uses)


def _hands_itself(nodes: Nodes) -> bool:
    """Loss(self), self(x), getattr(self, name), other.parent = self: anything but self.name."""
    owners = {id(node.value) for node in nodes.of(ast.Attribute)}
    supers = {id(one) for call in nodes.of(ast.Call) if path_of(call.func) == "super" for one in call.args}
    names = [node for node in nodes.of(ast.Name) if node.id == "self"]
    return any(id(node) not in owners | supers for node in names)
