"""Updates that only give a loop variable another value: no parameter changes, in silence (ZG304).

for p in net.parameters(): p = p - lr * p.grad
for mine, theirs in zip(target.parameters(), net.parameters()): mine = tau * theirs + (1 - tau) * mine

Certain where nobody reads the name behind the assignment: a copy that is put on a list, handed on or returned (the fast
weights of a meta-learner) is no update. So is one that changes the tensor on its way: p = p.copy_(q).
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from math import inf

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.calls import site_of
from zerograd.source.names.scopes import Scope
from zerograd.source.text.lines import lines_with, starts_of
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File

_LOOP = pattern(r"for\b([^\n]+?)\bin\b[^\n]*(?:parameters|\($)", re.MULTILINE)
_DESCENT = pattern(r"[ \t]+(\w+) ?=[^\n]*\b\1\.grad\b")
_CURE = "with torch.no_grad(): {name}.copy_(...)"
_WORD = pattern(r"\w+")
_NAMED = (ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Constant)
_PLAIN = (*_NAMED, ast.BinOp, ast.UnaryOp, ast.Call, ast.keyword, ast.Tuple, ast.List)
_COMPUTES = frozenset({"add", "sub", "mul", "div", "lerp", "clamp", "clip", "addcmul", "addcdiv", "where"})
_COMPUTES |= {"nan_to_num", "clamp_min", "clamp_max", "maximum", "minimum"}
# Methods that give a new tensor, or the same one, and change nothing.
_ASKS = _COMPUTES | {"clone", "detach", "to", "cpu", "cuda", "float", "double", "half", "type_as", "view", "reshape"}
_ASKS |= {"sign", "sqrt", "rsqrt", "square", "pow", "abs", "exp", "neg", "mean", "sum", "norm", "item", "size", "numel"}
_SAME = frozenset({"clone", "detach", "to", "cpu", "cuda", "float"})
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def detect(file: File) -> Iterator[Finding]:
    lines = [bisect_right(starts_of(file.text), place) for place in _places(file)]
    roots: list[tuple[ast.AST, Scope]] = [(file.program.tree, file.program.roots.module), *file.program.roots.functions]
    for node, scope in roots if lines else ():
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", inf)
        here = any(first <= line <= last for line in lines)
        for loop in file.program.nodes(node).of(ast.For) if here else ():
            for update, name in _updates(loop, scope):
                if not _is_read(name, update, loop, node, file):
                    what = f"{written(update)} rebinds only the loop variable"
                    found = note(REGISTRY["ZG304"], site_of(update, file.path), certain=True, what=what)
                    yield found._replace(cure=_CURE.format(name=name))


def _places(file: File) -> Iterator[int]:
    """Where the text looks like it: a loop whose variable is assigned somewhere, a step down a gradient."""
    if not file.says(".parameters()") and not file.says("named_parameters()") and not file.reads_gradients:
        return
    assigned: dict[str, bool] = {}
    for match in _LOOP.finditer(file.text):
        for name in _WORD.findall(match[1]):
            if name not in assigned:
                assigned[name] = _is_assigned(name, file.text)
            if assigned[name]:
                yield match.start()
    if file.reads_gradients:
        yield from (place for place in lines_with(".grad", file.text) if _DESCENT.match(file.text, place))


def _is_assigned(name: str, text: str) -> bool:
    """Whether a line begins with `name =`: a search for each name is much faster than a look at every line."""
    for written_so in (f"{name} =", f"{name}="):
        place = text.find(written_so)
        while place >= 0:
            before = text[text.rfind("\n", 0, place) + 1 : place]
            if before and before.isspace() and text[place + len(written_so) : place + len(written_so) + 1] != "=":
                return True
            place = text.find(written_so, place + 1)
    return False


def _updates(loop: ast.For, scope: Scope) -> Iterator[tuple[ast.Assign, str]]:
    """The assignments of a loop's own rounds that compute a new value for a parameter it hands out."""
    anything = {part.id for part in below(loop.target) if isinstance(part, ast.Name)}
    parameters = set(_parameters(loop.target, loop.iter))
    parts = [one for statement in loop.body for one in below(statement)]
    for node in (one for one in parts if isinstance(one, ast.Assign)):
        match node.targets:
            case [ast.Name(id=name)] if name in anything and not _stands_deeper(node, parts):
                if _is_pure(node.value, scope) and _is_update(node.value, name, parameters):
                    yield node, name


def _stands_deeper(node: ast.AST, parts: list[ast.AST]) -> bool:
    """Whether it stands in a loop that is among the parts of another."""
    return any(isinstance(one, ast.For | ast.AsyncFor | ast.While) and holds(one, node) for one in parts)


def _parameters(target: ast.expr, over: ast.expr) -> Iterator[str]:
    """The names that are bound to parameters of a module."""
    match target, over:
        case ast.Name(id=name), ast.Call(func=ast.Attribute(attr="parameters"), args=[]):
            yield name
        case ast.Tuple(elts=[_, ast.Name(id=name)]), ast.Call(func=ast.Attribute(attr="named_parameters")):
            yield name
        case _, ast.Call(func=ast.Name(id="list" | "tuple" | "reversed"), args=[inner]):
            yield from _parameters(target, inner)
        case ast.Tuple(elts=[_, each]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            yield from _parameters(each, inner)
        case ast.Tuple(elts=elements), ast.Call(func=ast.Name(id="zip"), args=several):
            for element, one in zip(elements, several, strict=False):
                yield from _parameters(element, one)


def _is_update(value: ast.expr, name: str, parameters: set[str]) -> bool:
    """p - lr * p.grad, of whatever the loop goes through; something computed from, or copied of, a parameter."""
    parts = below(value)
    if isinstance(value, ast.BinOp) and any(path_of(part) == f"{name}.grad" for part in parts):
        return True
    if name not in parameters:
        return False
    read = {part.id for part in parts if isinstance(part, ast.Name)} & parameters
    func = value.func if isinstance(value, ast.Call) else None
    computed = isinstance(value, ast.BinOp) or (isinstance(func, ast.Attribute) and func.attr in _COMPUTES)
    return (computed and bool(read)) or _origin(value) in parameters - {name}


def _origin(value: ast.expr) -> str | None:
    """`p` of p, p.data, p.detach().clone()."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _SAME:
            return _origin(inner)
        case ast.Attribute(value=inner, attr="data"):
            return _origin(inner)
    return value.id if isinstance(value, ast.Name) else None


def _is_pure(value: ast.expr, scope: Scope) -> bool:
    """Whether nothing in it can change a tensor: no p.mul_(), no function of somebody's own, no out=."""
    for part in below(value):
        if not isinstance(part, _PLAIN):
            return False
        if isinstance(part, ast.Call):
            path = path_of(part.func) or ""
            of_torch = scope.dotted(path).startswith("torch.") and not path.endswith("_")
            asks = isinstance(part.func, ast.Attribute) and part.func.attr in _ASKS
            if not (of_torch or asks or path == "float") or any(one.arg in ("out", None) for one in part.keywords):
                return False
    return True


def _is_read(name: str, update: ast.Assign, loop: ast.For, function: ast.AST, file: File) -> bool:
    """Whether anybody may read what was assigned: behind it in the round, or where no other loop binds the name."""
    behind = place(update)[1]
    elsewhere = [node for node in _reads(function, name, file) if not holds(loop, node) or place(node)[0] > behind]
    binders = list(_binders(function, name, loop, file)) if elsewhere else []
    return any(not any(holds(one, node) for one in binders) for node in elsewhere) or _is_captured(function, name, file)


def _binders(function: ast.AST, name: str, loop: ast.For, file: File) -> Iterator[ast.AST]:
    """The other loops, and the comprehensions, that bind the name themselves."""
    nodes = file.program.nodes(function)
    for other in nodes.of(ast.For):
        if other is not loop and not holds(other, loop) and not holds(loop, other) and _binds(other.target, name):
            yield from other.body
    for one in nodes:
        if isinstance(one, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield from (one for each in one.generators if _binds(each.target, name))


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in below(target))


def _reads(function: ast.AST, name: str, file: File) -> Iterator[ast.AST]:
    """Where a name is read, changed, or declared as that of another scope."""
    nodes = file.program.nodes(function)
    yield from (node for node in nodes.of(ast.Name) if node.id == name and isinstance(node.ctx, ast.Load))
    yield from (node for node in nodes.of(ast.AugAssign) if path_of(node.target) == name)
    yield from (node for node in nodes.of(ast.Global) if name in node.names)
    yield from (node for node in nodes.of(ast.Nonlocal) if name in node.names)


def _is_captured(function: ast.AST, name: str, file: File) -> bool:
    """Whether a function inside this one reads the name: it may be called at any time."""
    nodes = file.program.nodes(function)
    inner = (one for kind in (*_INNER, ast.ClassDef) for one in nodes.of(kind))
    return any(_is_foreign(node, name, one) for one in inner for node in below(one))


def _is_foreign(node: ast.AST, name: str, inner: ast.AST) -> bool:
    """Whether a name inside a function is not the function's own."""
    if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
        return False
    return not any(_owns(one, name) for one in below(inner) if isinstance(one, _INNER) and holds(one, node))


def _owns(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> bool:
    given = function.args
    arguments = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    if any(one.arg == name for one in arguments):
        return True
    names = (one for one in below(function) if isinstance(one, ast.Name) and one.id == name)
    return any(isinstance(one.ctx, ast.Store) for one in names)
