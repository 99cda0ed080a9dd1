"""Whether a loss is made of one iteration alone, so that its graph ends with the iteration that made it.

Names are followed back through the assignments in front of them. What comes from before the loop, or around from the
iteration before, may carry a graph; so may what a module remembers. Whatever cannot be read may.
"""

import ast
import builtins
import re
from collections.abc import Callable

from zerograd.source.nodes import below, holds, place, written
from zerograd.source.opaque import makes_something
from zerograd.source.reading import LoopNode, Reading
from zerograd.source.scopes import Function, Role, Scope, path_of

_BUILTINS = frozenset(dir(builtins))
_MEMORIES = ("RNN", "LSTM", "GRU")  # their state is handed round by name: that is seen as a name
_DATA = re.compile(r"load|data|batch|range|queue|sampler")
_SETTING = re.compile(r"(^|[._])(device|args?|options?|cfg|conf|config|hparams|flags)(\.|$)", re.IGNORECASE)
_DEPTH = 20
_FEW = 3  # functions that one calls another


Trained = Callable[[str], bool]  # whether a step changes the weights of this module


def is_closed(function: Reading, loss: ast.expr, loop: LoopNode | None, trained: Trained) -> bool:
    """False unless every tensor the loss is made of was made by this iteration, or carries no graph that could be gone
    through again: none can that goes through weights which a step changes before the next iteration."""
    return loop is not None and _Tracer(function, loop, trained).closed(loss, 0)


class _Tracer:
    def __init__(self, function: Reading, loop: LoopNode, trained: Trained) -> None:
        self._function, self._loop, self._trained = function, loop, trained
        self._made: dict[str, list[ast.Assign | ast.AugAssign]] = {}
        self._seen: set[int] = set()
        bound: list[ast.Assign | ast.AugAssign] = [*function.of(ast.Assign), *function.of(ast.AugAssign)]
        for node in bound:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for part in below(target):
                    if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store):
                        self._made.setdefault(path_of(part) or "", []).append(node)
        # What a loader hands out has no graph; what a list of losses or of chunks hands out may.
        self._given = {
            part.id
            for each in function.of(ast.For)
            if _DATA.search(written(each.iter).lower())
            for part in below(each.target)
            if isinstance(part, ast.Name)
        }

    def closed(self, node: ast.expr, depth: int) -> bool:
        if id(node) in self._seen:
            return True
        self._seen.add(id(node))
        if depth > _DEPTH:
            return False
        match node:
            case ast.Constant():
                return True
            case ast.Name() | ast.Attribute() if path_of(node) is not None:
                return self._name(node, depth)
            case ast.Call(func=func, args=args, keywords=keywords):
                called = self._callee(func, depth)
                return called and all(self.closed(part, depth + 1) for part in (*args, *(k.value for k in keywords)))
            case ast.Lambda() | ast.Await() | ast.Yield() | ast.NamedExpr() | ast.ListComp() | ast.GeneratorExp():
                return False
        return all(self.closed(part, depth + 1) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))

    def _name(self, node: ast.expr, depth: int) -> bool:
        path = path_of(node) or ""
        root = path.partition(".")[0]
        made = [one for one in self._made.get(path, self._made.get(root, [])) if self._is_before(one, node)]
        sure = [one for one in made if self._runs_before(one, node)]
        if sure:
            last = max(sure, key=place)
            later = [one for one in made if place(one) >= place(last)]  # and what may have run in between
            return all(self.closed(source, depth + 1) for one in later for source in _sources(one))
        if root in self._given:
            return True
        return self._carries_no_graph(path, root)

    def _is_before(self, made: ast.AST, use: ast.AST) -> bool:
        """An assignment of this iteration, in front of the use."""
        return holds(self._loop, made) and place(made)[1] <= place(use)[0]

    def _runs_before(self, made: ast.AST, use: ast.AST) -> bool:
        """Whether it has run whenever the use is reached."""
        inner = [loop for loop in self._function.loops if holds(loop, made) and not holds(loop, use)]
        return not inner and self._function.arms(made) <= self._function.arms(use)

    def _carries_no_graph(self, path: str, root: str) -> bool:
        """Something from outside the loop: a setting, an import, a constant, data that torch made without a graph."""
        if _SETTING.search(path):
            return True
        if path in self._made or root in self._made:
            values = [made.value for made in self._made.get(path, self._made.get(root, []))]
            outside = [made for made in self._made.get(root, []) if not holds(self._loop, made)]
            return len(outside) == len(values) and all(isinstance(value, ast.Constant) for value in values)
        return self._function.scope.dotted(root) != root

    def _is_model(self, path: str) -> bool:
        """Something that was handed in, or made before the loop as one makes an object: Model().to(device)."""
        made = self._made.get(path, [])
        return all(not holds(self._loop, one) and _makes_object(one.value) for one in made)

    def _callee(self, func: ast.expr, depth: int) -> bool:
        """What is called remembers nothing: a function of torch, a builtin, a torch module, a class without memory."""
        path = path_of(func)
        scope = self._function.scope
        if path is None:
            return isinstance(func, ast.Attribute) and self.closed(func.value, depth + 1)
        if path in _BUILTINS or scope.dotted(path).partition(".")[0] in ("torch", "math", "numpy"):
            return True
        binding = scope.lookup(path)
        if binding is not None and binding.role is Role.TORCH:
            return not binding.made_by.endswith(_MEMORIES) and binding.made_by.startswith("torch.nn.")
        if binding is not None and binding.role is Role.INSTANCE:
            return not _remembers(binding.made_by, scope, _DEPTH)
        root = path.rpartition(".")[0]
        if binding is None and root in ("", "self") and self._trained(path) and self._is_model(path):
            function = scope.function(path)  # if there is none: a model or a criterion that is trained here
            return function is None or _forgets(function, _FEW)
        return bool(root) and isinstance(func, ast.Attribute) and self.closed(func.value, depth + 1)


def _makes_object(value: ast.expr) -> bool:
    while (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Call)
    ):
        value = value.func.value
    return isinstance(value, ast.Call) and makes_something(path_of(value.func) or "")


def _forgets(function: Function, depth: int) -> bool:
    """Whether a function makes what it returns of what it is given and of modules: it reads nothing that was kept."""
    cls = function.scope.owner
    changed = _changed(cls) if cls is not None else frozenset()
    for node in below(function.node):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if not function.scope.owns(node.id) and not _is_known(node.id, function.scope):
                return False
        elif isinstance(node, ast.Attribute) and (path := path_of(node)) is not None and path.startswith("self."):
            inner = function.scope.function(path)
            if path in changed or (inner is not None and not (depth and _forgets(inner, depth - 1))):
                return False
    return True


def _is_known(name: str, scope: Scope) -> bool:
    """A builtin, an import, a function or a class: nothing that carries a graph."""
    module = scope.module
    known = name in _BUILTINS or name in module.functions or name in module.class_scopes
    return known or scope.dotted(name) != name or _SETTING.search(name) is not None


def _changed(cls: Scope) -> frozenset[str]:
    """The attributes that something but __init__ assigns."""
    return frozenset(
        path
        for one in cls.lineage()
        for method in one.functions.values()
        if method.node.name != "__init__"
        for node in below(method.node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and (path := path_of(node)) is not None
    )


def _sources(node: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    """What a name is made of: `loss += more` reads the loss too."""
    return [node.value] if isinstance(node, ast.Assign) else [node.value, node.target]


def _remembers(name: str, scope: Scope, depth: int) -> bool:
    """Whether a module of this project keeps something from one call to the next, or has a part that may."""
    cls = scope.class_scope(name)
    if cls is None or not depth or any(not base.endswith("Module") for base in cls.bases):
        return True
    for method in cls.functions.values():
        for node in below(method.node):
            path = path_of(node) or ""
            if method.node.name != "__init__":
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and path.startswith("self."):
                    return True
            elif isinstance(node, ast.Call) and _may_remember(node, cls, depth):
                return True
    return False


def _may_remember(call: ast.Call, scope: Scope, depth: int) -> bool:
    """What a module is made of: torch's own layers forget, those of this project are read, others may remember."""
    path = path_of(call.func) or ""
    dotted = scope.dotted(path)
    makes = path.rpartition(".")[2][:1].isupper() and dotted.partition(".")[0] != "torch"
    return makes and _remembers(dotted, scope, depth - 1)
