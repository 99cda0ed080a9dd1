"""Parameters that stand twice in one group of an optimizer: each step consumes their gradients twice (ZG004).

SGD([*net.parameters(), *net.parameters()]), or net beside net.encoder      torch warns of one group, and steps
for m in net.modules(): for p in m.parameters(): yield p                    parameters() goes through all modules below

Two groups with one parameter are an error of torch's own, so that one group is all that is looked at.
"""

import ast
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, combinations

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.calls import site_of
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.lines import starts_of, within
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File

_WORD = ".parameters()"
_SEVERAL = pattern(r"\.parameters\(\)[^=;#]{1,60}?\.parameters\(\)")
_TWICE = "{optimizer}() is given the parameters of {model} twice: each step consumes their gradients twice"
_INSIDE = "{optimizer}() is given {inner} and {model}, which holds it: each step consumes its gradients twice"
_NESTED = "{name}() gives each parameter once for every module around it: a step consumes its gradient as often"
_CURE = "list every parameter once; modules() and parameters() both go through all that is below"


def detect(file: File) -> Iterator[Finding]:
    roots = file.program.roots
    lines = [bisect_right(starts_of(file.text), place) for place in _several(file.text)]
    if lines:
        yield from _given_twice(file, file.program.tree, roots.module)
        for node, scope in roots.functions:
            if any(node.lineno <= line <= (node.end_lineno or line) for line in lines):
                yield from _given_twice(file, node, scope)
    if file.says(".modules()") and file.says("yield"):
        for function in roots.functions:
            if ".modules()" in within(file.text, function.node):
                yield from _nested(file, function)


def _several(text: str) -> Iterator[int]:
    """Where two models are named one behind the other: a search for the word is faster than the pattern's own."""
    at = text.find(_WORD)
    while at >= 0:
        found = _SEVERAL.match(text, at)
        if found is not None:
            yield at
        at = text.find(_WORD, found.end() if found is not None else at + 1)


def _given_twice(file: File, node: ast.AST, scope: Scope) -> Iterator[Finding]:
    for call in file.program.nodes(node).of(ast.Call):
        given = sorted(modules_listed(call.args[0])) if call.args else []
        pairs = combinations(given, 2) if len(given) > 1 and makes_optimizer(call, scope) else ()
        for model, inner in pairs:  # the outer one is the shorter, and so the first
            if model == inner or (inner.startswith(f"{model}.") and _is_held(model, inner, scope)):
                told = _TWICE if model == inner else _INSIDE
                message = told.format(optimizer=path_of(call.func), model=model, inner=inner)
                yield _told(file, call, message, certain=True)
                break


def modules_listed(given: ast.expr) -> Iterator[str]:
    """`X` of every `X.parameters()` that is listed whole; nothing at all where some are chosen."""
    match given:
        case ast.Call(func=ast.Attribute(value=value, attr="parameters"), args=[], keywords=[]):
            path = path_of(value)
            yield from () if path is None or "[*]" in path else (path,)
        case ast.Call(func=func, args=args) if (path_of(func) or "").rpartition(".")[2] in ("chain", "list"):
            for one in args:
                yield from modules_listed(one)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from chain(modules_listed(left), modules_listed(right))
        case ast.List(elts=elements):
            for one in elements:
                yield from modules_listed(one.value) if isinstance(one, ast.Starred) else ()


def _is_held(model: str, inner: str, scope: Scope) -> bool:
    """Whether `net.encoder` is known to be a module that net registers."""
    binding = scope.lookup(model)
    cls = binding.cls if binding is not None else None
    lineage = cls.lineage() if cls is not None else ()
    attribute = f"self{inner[len(model) :]}"
    return any(base == "torch.nn.Module" for one in lineage for base in one.bases) and any(
        attribute in one.assigned for one in lineage
    )


def _nested(file: File, function: Function) -> Iterator[Finding]:
    nodes = file.program.nodes(function.node)
    for outer in nodes.of(ast.For) if nodes.of(ast.Yield) else ():
        match outer:
            case ast.For(target=ast.Name(id=module), iter=ast.Call(func=ast.Attribute(attr="modules"), args=[])):
                for inner in outer.body:
                    if _yields_all(inner, module):
                        name = function.node.name
                        alone = sum(one.node.name == name for one in file.program.roots.functions) == 1
                        given = _is_given(file, name)
                        if given is not None:
                            yield _told(file, outer.iter, _NESTED.format(name=name), certain=given and alone)


def _yields_all(inner: ast.stmt, module: str) -> bool:
    """for p in m.parameters(): yield p, if it is to be trained"""
    match inner:
        case ast.For(
            target=ast.Name(id=parameter),
            iter=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="parameters"), args=[], keywords=[]),
            body=body,
        ) if name == module:
            for statement in body:
                if isinstance(statement, ast.If) and path_of(statement.test) == f"{parameter}.requires_grad":
                    body = statement.body
            yielded = (
                one.value.value for one in body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Yield)
            )
            return any(value is not None and path_of(value) == parameter for value in yielded)
    return False


def _is_given(file: File, name: str, depth: int = 2) -> bool | None:
    """Whether what a generator yields is given to an optimizer as it is: surely, perhaps, or not as far as one sees.

    A group may be listed by a function that nobody calls: surely only if an optimizer is given what that returns."""
    found: bool | None = None
    for node in below(file.program.tree):
        if isinstance(node, ast.Call) and makes_optimizer(node, file.program.roots.module):
            if any(_is_call(part, name) for part in node.args[:1]) or _lists(node, name):
                return True
        elif isinstance(node, ast.FunctionDef) and depth and node.name != name and _lists(node, name):
            found = found or _is_given(file, node.name, depth - 1) or False
    return _is_given_elsewhere(file, name) if found is None else found


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and (path_of(node.func) or "").rpartition(".")[2] == name


def _lists(node: ast.AST, name: str) -> bool:
    """{"params": model.name()}, somewhere in a node"""
    for part in below(node):
        if isinstance(part, ast.Dict):
            keyed = zip(part.keys, part.values, strict=True)
            if any(
                isinstance(key, ast.Constant) and key.value == "params" and _is_call(its, name) for key, its in keyed
            ):
                return True
    return False


def _is_given_elsewhere(file: File, name: str) -> bool | None:
    """The same for the files beside this one: surely only if none of them has a function of that name."""
    if not os.path.isfile(file.path):
        return None
    given = re.compile(rf"""(['"]params['"]\s*:\s*|optim\.\w+\(\s*)(list\()?[\w.]*\b{re.escape(name)}\(""")
    found = defined = False
    for text in file.beside or ():
        found |= given.search(text) is not None
        defined |= f"def {name}(" in text
    return not defined if found else None


def _told(file: File, node: ast.expr, message: str, *, certain: bool) -> Finding:
    found = note(REGISTRY["ZG004"], site_of(node, file.path), certain=certain, step="", consumer="")
    return found._replace(message=message, cure=_CURE)
