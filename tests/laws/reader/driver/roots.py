"""Calls what nobody calls: the functions and methods of a program that its module body never enters, with stand-ins."""

import ast
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from laws.reader.driver import roles
from laws.reader.driver.missing import Lightning, optimizers_of
from laws.reader.driver.probe import Probe

_NOT_ROOTS = {
    "__init__",
    "forward",
    "__init_subclass__",
    "__del__",
    "__repr__",
    "__getattr__",
    "__setattr__",
    "__new__",
}


def free_names(tree: ast.Module) -> list[str]:
    """Names that are read and that nobody binds, in the order of the text."""
    bound: set[str] = set(dir(__builtins__)) | set(__builtins__ if isinstance(__builtins__, dict) else ())
    read: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            bound.add(node.id) if not isinstance(node.ctx, ast.Load) else read.append(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return [name for name in dict.fromkeys(read) if name not in bound]


def call_roots(
    tree: ast.Module, module: dict[str, Any], probe: Probe, guarded: Callable[[Callable[[], object]], None]
) -> None:
    """Every function that was not entered yet; those that no other one names first, so that callers come before
    callees."""
    named = _names_in_functions(tree)
    functions = [one for one in module.values() if isinstance(one, FunctionType) and one.__module__ == "__main__"]
    for function in sorted(functions, key=lambda one: one.__name__ in named):
        if _code(function) not in probe.entered:
            guarded(lambda function=function: _call(function, function.__name__, probe))
    for cls in [one for one in module.values() if isinstance(one, type) and one.__module__ == "__main__"]:
        guarded(lambda cls=cls: _use(cls, named, probe, guarded))


def _use(cls: type, named: set[str], probe: Probe, guarded: Callable[[Callable[[], object]], None]) -> None:
    methods = [(name, one) for name, one in vars(cls).items() if _is_method(name, one)]
    left = [(name, one) for name, one in methods if _code(one) not in probe.entered]
    if not left:
        return
    roles.forget_networks()
    _fill_in(cls, probe)
    plain = cls.__init__ is object.__init__
    thing = cls() if plain else cls(**_arguments(cls.__init__, cls.__name__, probe, bound=True))
    probe.label(thing, cls.__name__)
    if isinstance(thing, Lightning):
        guarded(lambda: _fit(thing, probe))
    for name, method in sorted(left, key=lambda one: one[0] in named):
        if _code(method) not in probe.entered:
            guarded(lambda name=name: _call(getattr(thing, name), f"{cls.__name__}.{name}", probe))


def _fill_in(cls: type, probe: Probe) -> None:
    """Attributes that the class asks of itself and that nobody ever sets: somebody who cannot be seen would have."""
    known = getattr(cls, "__getattr__", None)

    def missing(self: Any, name: str) -> Any:
        if known is not None:
            try:
                return known(self, name)
            except AttributeError:
                pass
        if name.startswith("__") or name in roles.assigned():
            raise AttributeError(name)
        value = roles.given(name)
        probe.label(value, f"{cls.__name__}.{name}")
        setattr(self, name, value)
        return value

    cls.__getattr__ = missing


def _fit(module: Any, probe: Probe) -> None:
    """What Lightning's trainer does with a module, for two batches."""
    step = getattr(type(module), "training_step", None)
    if step is None:
        return
    for _ in range(2):
        loss = _call(module.training_step, f"{type(module).__name__}.training_step", probe)
        loss = loss["loss"] if isinstance(loss, dict) else loss
        if module.automatic_optimization and loss is not None:
            for optimizer in optimizers_of(module.configure_optimizers()):
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


def _call(function: Callable[..., Any], name: str, probe: Probe) -> Any:
    roles.forget_networks()
    result = function(**_arguments(function, name, probe))
    if inspect.isgenerator(result):
        for _ in range(4):
            next(result)
    return result


def _arguments(function: Any, name: str, probe: Probe, *, bound: bool = False) -> dict[str, Any]:
    """A stand-in for each parameter: networks before the optimizers that shall hold them. A default of None is what a
    caller leaves out, and is filled too; any other one stands."""
    parameters = list(inspect.signature(function).parameters.values())[1 if bound else 0 :]
    wanted = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    filled = {one.name: None for one in wanted}
    for one in sorted(
        wanted, key=lambda one: bool({"optimizer", "optim", "opt", "scheduler"} & set(roles.words(one.name)))
    ):
        empty = one.default is one.empty or one.default is None
        value = roles.given(one.name) if empty else one.default
        probe.label(value, f"{name}({one.name})")
        filled[one.name] = value
    return filled


def _is_method(name: str, thing: object) -> bool:
    return isinstance(thing, FunctionType) and name not in _NOT_ROOTS


def _code(function: Any) -> Any:
    return inspect.unwrap(function).__code__


def _names_in_functions(tree: ast.Module) -> set[str]:
    """What the functions of the program name: they may call it."""
    return {
        getattr(node, "id", None) or getattr(node, "attr", "")
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Name | ast.Attribute)
    }
