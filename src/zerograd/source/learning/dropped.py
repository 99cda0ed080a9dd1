"""Operations on parameters and gradients whose results nobody keeps: p.add(e), p.grad.clamp(-1, 1), as statements.

Without its underscore such a method returns another tensor and leaves this one as it was; torch.clamp(p.grad, -1, 1) is
the same. A name is known to be a parameter where a loop goes over them; `.grad` of something, and `.data` of a weight,
are what they are called. Tests and what stands alone at the top of a file, where a notebook shows it, are left alone. A
gradient that is clipped into a copy is ZG302.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.text.nodes import holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import File, Reading

_CLIPS = ("clamp", "clip", "clamp_min", "clamp_max")
_OPERATIONS = (*_CLIPS, "add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "masked_fill", "renorm")
_OPERATION = pattern(rf"\.(?:{'|'.join(_OPERATIONS)})\(")
_ALONE = pattern(r"[ \t]+[\w.]+")
_GRADIENTS = (".grad", ".grad.data")
_WEIGHTS = (".weight.data", ".bias.data")
_HANDS_OUT = frozenset({"zip", "enumerate", "filter", "list", "tuple", "reversed"})


def detect(file: File) -> Iterator[Finding]:
    if not any(map(file.says, ("param", ".grad", ".weight.data", ".bias.data"))):
        return
    lines = list(_lines(file.text))
    if not lines:
        return
    program = file.program
    yield from _inside(Reading(program.tree, (), program.roots.module, file))
    for one in program.roots.functions:
        node = one.node
        if any(node.lineno < line <= (node.end_lineno or 0) for line in lines) and not node.name.startswith("test"):
            yield from _inside(Reading(node, (), one.scope, file))


def _lines(text: str) -> Iterator[int]:
    """The numbers of the lines that begin with such an operation."""
    for found in _OPERATION.finditer(text):
        if _ALONE.fullmatch(text, text.rfind("\n", 0, found.start()) + 1, found.start()):
            yield text.count("\n", 0, found.start()) + 1


def _inside(function: Reading) -> Iterator[Finding]:
    for node in function.of(ast.Expr):
        call = node.value
        changed, name = _changed(call, function) if isinstance(call, ast.Call) else (None, "")
        if changed is None or (function.node is function.file.program.tree and function.loop_around(node) is None):
            continue
        path = path_of(changed) or ""
        if path.endswith(_GRADIENTS) and _is_gradient(path, name, function, node):
            if name not in _CLIPS:
                yield _told(function, node, name, "gradient")
        elif path.endswith(_WEIGHTS) or _is_parameter(path.removesuffix(".data"), function, node):
            yield _told(function, node, name, "parameter")


def _is_gradient(path: str, name: str, function: Reading, node: ast.stmt) -> bool:
    """Not self.grad, which an object may have made for itself; and a set may be called so, where it is asked to add."""
    whose = path.partition(".grad")[0]
    return whose != "self" and (name != "add" or _is_parameter(whose, function, node))


def _changed(call: ast.Call, function: Reading) -> tuple[ast.expr | None, str]:
    """What an operation seems to change, and what it is called: p of p.add(e), and of torch.add(p, e)."""
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in _OPERATIONS:
        return None, ""
    if any(one.arg in ("out", "inplace", None) for one in call.keywords):
        return None, ""
    if function.scope.dotted(path_of(func) or "") == f"torch.{func.attr}":
        return (call.args[0], func.attr) if call.args else (None, "")
    return func.value, func.attr


def _is_parameter(name: str, function: Reading, node: ast.stmt) -> bool:
    """Whether it is one of those that a loop around goes over, and stays it."""
    loops = [loop for loop in function.of(ast.For) if holds(loop, node) and _gives(loop.target, loop.iter, name)]
    made = definitions_of(function).every(name) if loops else []
    others = [one.node for one in made if not one.adds and not one.each]
    return bool(loops) and not any(holds(loops[-1], one) for one in others)


def _gives(target: ast.expr, over: ast.expr, name: str) -> bool:
    """for p in model.parameters(), for n, p in model.named_parameters(), for p in group["params"], for a, b in zip"""
    path = path_of(over.func) if isinstance(over, ast.Call) else None
    last = (path or "").rpartition(".")[2]
    match over, target:
        case ast.Call(args=[*_, inner]), _ if last in _HANDS_OUT - {"zip", "enumerate"}:
            return _gives(target, inner, name)
        case ast.Call(args=[inner, *_]), ast.Tuple(elts=[_, item]) if last == "enumerate":
            return _gives(item, inner, name)
        case ast.Call(args=several), ast.Tuple(elts=items) if last == "zip" and len(several) == len(items):
            return any(_gives(item, one, name) for item, one in zip(items, several, strict=True))
        case ast.Call(func=ast.Attribute()), ast.Tuple(elts=[_, ast.Name(id=item)]) if last == "named_parameters":
            return item == name
        case ast.Call(func=ast.Attribute()), ast.Name(id=item) if last == "parameters":
            return item == name
        case ast.Subscript(slice=ast.Constant(value="params")), ast.Name(id=item):
            return item == name
    return False


def _told(function: Reading, node: ast.Expr, name: str, what: str) -> Finding:
    said = written(node.value)
    message = f"{said} does not change the {what}: its result is dropped"
    found = note(REGISTRY["ZG304"], function.site(node.value), certain=True, what=message)
    return found._replace(cure=f"call {name}_() instead: it changes the {what} in place")
