"""Whether a name of a function stands for a value, or for an object that makes values: a module, a distribution."""

import ast
from functools import cached_property

from zerograd.source.names.opaque import makes_object, makes_something
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import MODULES
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading

_MODULE = pattern(r"(^|_)(model|net|network|encoder|decoder|generator|discriminator|critic|actor|policy)\d*$")
_ASKED = MODULES | {"forward", "step"}


class Objects:
    def __init__(self, function: Reading) -> None:
        self._function, self._scope, self._names = function, function.scope, definitions_of(function)

    def is_module(self, path: str) -> bool:
        """Whether something is used as a module: it has weights, but no graph."""
        return path in self._modules

    @cached_property
    def _modules(self) -> frozenset[str]:
        calls = [node.func for node in self._function.of(ast.Call)]
        called = {path_of(func) or "" for func in calls}
        used = {path_of(func.value) or "" for func in calls if isinstance(func, ast.Attribute) and func.attr in MODULES}
        return frozenset(used | {path for path in called if "loss" not in path})

    @cached_property
    def _holders(self) -> frozenset[str]:
        """What modules and optimizers are asked of: agent.critic.parameters(), of `for agent in agents`."""
        asked = [path.split(".") for path in map(path_of, (node.func for node in self._function.of(ast.Call))) if path]
        return frozenset(parts[0] for parts in asked if len(parts) > 2 and parts[-1] in _ASKED)

    def is_class(self, path: str) -> bool:
        """Whether a call makes an object: its name is written as a class's, and is nobody's variable."""
        variable = path.startswith("self.") or path in self._scope.parameters or bool(self._names.every(path))
        named = makes_something(path) or (path[:1].isupper() and self._scope.dotted(path) != path)
        named = named or self._scope.class_scope(self._scope.dotted(path)) is not None
        return named and not variable and path not in self._scope.module.bindings

    def is_local(self, path: str) -> bool:
        """Whether this function made what a path begins with: nobody else sees what it is given."""
        root = _root(path)
        return bool(self._names.every(root)) and root not in self._scope.parameters

    def is_value(self, path: str) -> bool:
        """Whether something is a tensor, or a part of one, rather than a module that was handed in or made."""
        root = _root(path)
        made = self._names.every(root)
        if root in self._holders:
            return False
        if _MODULE.search(root):  # model = models[i]; but mask_for_critic = mask * later
            return bool(made) and all(self._is_computed(one.value) for one in made if not one.adds)
        return bool(made) and not all(makes_object(one.value) for one in made)

    def _is_computed(self, value: ast.expr) -> bool:
        """mask * later, q[:, :-1], F.mse_loss(q, target): nobody calculates with modules."""
        match value:
            case ast.BinOp(op=ast.Mult() | ast.Sub() | ast.Div() | ast.Pow()):
                return True
            case ast.UnaryOp(op=ast.USub()):
                return True
            case ast.Subscript(slice=ast.Tuple(elts=each)):
                return any(isinstance(one, ast.Slice) for one in each)
            case ast.Call(func=ast.Attribute(value=inner, attr="sum" | "mean")):
                return self._is_computed(inner) if path_of(inner) != "torch" else True
            case ast.Call(func=func):
                return self._scope.dotted(path_of(func) or "").startswith("torch.nn.functional.")
        return False

    def is_distribution(self, path: str) -> bool:
        """Normal(0, 1), made here: what is drawn of it has the graph of what it was made of, and no other."""
        made = [path_of(getattr(one.value, "func", one.value)) or "" for one in self._names.every(path)]
        return bool(made) and all(self._scope.dotted(each).startswith("torch.distributions.") for each in made)


def _root(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]
