"""The same arguments, handed over in another way."""

import ast
import importlib
import inspect
from collections.abc import Sequence

from laws.reader.rewrites.naming import called_function
from laws.reader.rewrites.origins import lines_of, standing_for
from laws.reader.rewrites.scopes import Names


def keyword_arguments(tree: ast.Module) -> ast.Module | None:
    """`f(a=x, b=y)` for `f(x, y)`, where f is a function or class of this file, or one that is imported from torch: the
    parameters have these names, and arguments are evaluated from left to right in both."""
    names = Names(tree)
    imported = _imported(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    changed = 0
    for call in calls:
        parameters = _parameters(call, names, imported)
        if len(parameters) < len(call.args) or any(isinstance(arg, ast.Starred) for arg in call.args):
            continue
        given = zip(parameters, call.args, strict=False)
        call.keywords[:0] = [_keyword(name, arg) for name, arg in given]
        call.args = []
        changed += 1
    return tree if changed else None


def _keyword(name: str, argument: ast.expr) -> ast.keyword:
    keyword = standing_for(ast.keyword(name, ast.Constant(None)), *lines_of(argument))
    keyword.value = argument
    return keyword


def _parameters(call: ast.Call, names: Names, imported: dict[str, str]) -> Sequence[str]:
    """The names of the positional parameters that a call fills, as far as all of them may be given by name."""
    function = called_function(call, names)
    if function is not None:
        own = [arg.arg for arg in function.args.args]
        method = isinstance(names.definition(call), ast.ClassDef)
        return own[1:] if method else own if not function.args.posonlyargs else ()
    return _torch_parameters(_dotted(call.func, names, imported))


def _dotted(function: ast.expr, names: Names, imported: dict[str, str]) -> str:
    if isinstance(function, ast.Name):
        binding = names.meaning(function)
        return imported.get(function.id, "") if binding and names.roles(binding) == {"import"} else ""
    if isinstance(function, ast.Attribute):
        owner = _dotted(function.value, names, imported)
        return f"{owner}.{function.attr}" if owner else ""
    return ""


def _imported(tree: ast.Module) -> dict[str, str]:
    """By name, what an import at the top of the file binds it to."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {
                one.asname or one.name.split(".")[0]: one.name if one.asname else one.name.split(".")[0]
                for one in node.names
            }
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def _torch_parameters(dotted: str) -> Sequence[str]:
    """Positional parameters of a Python function or class of torch; those written in C take some by position only."""
    if not dotted.startswith("torch."):
        return ()
    parts = dotted.split(".")
    thing: object = importlib.import_module("torch")
    for part in parts[1:]:
        thing = getattr(thing, part, None)
    if not inspect.isfunction(thing) and not inspect.isclass(thing):
        return ()
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ()
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return ()
    return [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
