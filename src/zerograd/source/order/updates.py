"""Parameters that are updated by hand: where autograd is watching, or under a new name."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Blur, Call
from zerograd.source.names.scopes import Scope
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import Reading

_IN_PLACE = frozenset({"sub_", "add_"})
CURE = "no optimizer holds it: set {name}.grad = None once for every update, before the next backward()"
_CLEARED = pattern(r"(\w+)\.grad(?:\.data)?(?:\.zero_\(\)| = None)$")


def detect(function: Reading) -> Iterator[Finding]:
    made = _made(function)
    yield from _rebound(function, {name for name, each in made.items() if any(each)})
    yield from _watched(function, made)
    yield from _never_cleared(function)


def _made(function: Reading) -> dict[str, list[bool]]:
    """By name, for everything it is bound to, whether that is a leaf which requires a gradient."""
    made: dict[str, list[bool]] = {}
    for node in function.of(ast.Assign):
        for target in node.targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Name):
                    made.setdefault(part.id, []).append(is_leaf(node.value, function.scope))
    return made


def _rebound(function: Reading, leaves: set[str]) -> Iterator[Finding]:
    """W = W - lr * W.grad, for a leaf that requires a gradient."""
    for node in function.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=same), op=ast.Sub())):
                if name == same and name in leaves and _reads(node.value, name) and not _made_leaf(function, name):
                    what = f"{written(node)} makes a new tensor instead of updating {name}: it is no leaf, "
                    yield note(REGISTRY["ZG304"], function.site(node), certain=True, what=what + "and gets no .grad")


def _made_leaf(function: Reading, name: str) -> bool:
    """W.requires_grad_(): the new tensor is made a leaf in its turn."""
    switches = {f"{name}.requires_grad_", f"{name}.requires_grad", f"{name}.retain_grad"}
    return any(path_of(node) in switches for node in function.of(ast.Attribute))


def _watched(function: Reading, made: dict[str, list[bool]]) -> Iterator[Finding]:
    """W -= lr * W.grad outside no_grad: in-place on a leaf that autograd watches, which raises."""
    parameters = {
        loop.target.id
        for loop in function.of(ast.For)
        if isinstance(loop.target, ast.Name) and isinstance(loop.iter, ast.Call)
        if isinstance(loop.iter.func, ast.Attribute) and loop.iter.func.attr == "parameters"
    }
    watched = {name for name, each in made.items() if all(each)} | (parameters - made.keys())
    for node, name in _in_place(function):
        if name not in watched or not _reads(node, name) or function.without_grad(node):
            continue
        # Whoever calls a function that only updates may have switched autograd off; one that deposits has it on.
        certain = bool(function.having(Kind.DEPOSIT))
        what = f"{written(node)} changes {name} in place while autograd is watching, which raises"
        yield note(REGISTRY["ZG304"], function.site(node), certain=certain, what=what)


def _never_cleared(function: Reading) -> Iterator[Finding]:
    """backward(); W -= lr * W.grad, round and round, and nothing clears W.grad."""
    deposits, clears = function.having(Kind.DEPOSIT), function.having(Kind.CLEAR)
    if function.having(Kind.CONSUME) or may_clear(function):
        return
    anybody = {part.id for loop in function.of(ast.For) for part in below(loop.target) if isinstance(part, ast.Name)}
    for node, name in _updates(function):
        loop = function.loop_around(node)
        if isinstance(loop, ast.For) and path_of(loop.target) == name and _is_parameters(loop.iter):
            loop = max((one for one in function.loops if holds(one, loop) and one is not loop), key=place, default=None)
        elif any(
            path_of(target) == name
            for one in function.of(ast.Assign)
            for target in one.targets
            if loop is not None and holds(loop, one)
        ):
            continue  # another tensor in every round
        fed = [act for act in deposits if act.node is not None and loop is not None and holds(loop, act.node)]
        if len(fed) == 1 and not any(may_reach(act.what, name, anybody) for act in clears):
            step = written(node)
            deposit, consumer = f"{fed[0].what} on line {fed[0].site.line}", f"{step} one iteration earlier"
            related = (Related(fed[0].site, "the gradient is deposited here"),)
            names = {"step": step, "deposit": deposit, "consumer": consumer}
            found = note(REGISTRY["ZG001"], function.site(node), certain=True, related=related, **names)
            yield found._replace(cure=CURE.format(name=name))


def _updates(function: Reading) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    """W -= lr * W.grad; W.data -= ...; W.data.add_(...), W.data.sub_(...); with W.grad, or with what it goes into"""
    found: list[tuple[ast.stmt | ast.expr, ast.expr]] = []
    found += [(one, one.target) for one in function.of(ast.AugAssign) if isinstance(one.op, ast.Sub | ast.Add)]
    for call in function.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _IN_PLACE:
            found.append((call, call.func.value))
    for node, changed in found:
        name = (path_of(changed) or "").removesuffix(".data")
        if name and "." not in name and (_reads(node, name) or _reads_buffer(function, node, name)):
            yield node, name


def _reads_buffer(function: Reading, node: ast.stmt | ast.expr, name: str) -> bool:
    """velocity.mul_(momentum).add_(W.grad); W.sub_(lr * velocity), in the same loop, one behind the other."""
    if not function.file.says(f"{name}.grad"):
        return False
    used = {part.id for part in below(node) if isinstance(part, ast.Name)} - {name}
    loop = function.loop_around(node)
    taken = [one for one in _takers(function, used) if _reads(one, name) and place(one) < place(node)]
    return any(function.loop_around(one) is loop and function.arms(one) <= function.arms(node) for one in taken)


def _takers(function: Reading, buffers: set[str]) -> Iterator[ast.stmt]:
    """The statements that put something into one of these: v = m * v + ..., v += ..., v.mul_(m).add_(...)"""
    assigned: list[tuple[ast.stmt, ast.expr]] = [(one, one.targets[0]) for one in function.of(ast.Assign)]
    assigned += [(one, one.target) for one in function.of(ast.AugAssign)]
    assigned += [(one, _changed(one.value)) for one in function.of(ast.Expr)]
    yield from (one for one, target in assigned if isinstance(target, ast.Name) and target.id in buffers)


def _changed(value: ast.expr) -> ast.expr:
    """v of v.mul_(m).add_(...)"""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr.endswith("_"):
        value = value.func.value
    return value


def _is_parameters(over: ast.expr) -> bool:
    return isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "parameters"


def may_reach(clear: str, name: str, anybody: set[str]) -> bool:
    """Whether a clear may be one of W.grad: it is, unless it names another tensor and no loop variable."""
    cleared = _CLEARED.match(clear)
    return cleared is None or cleared[1] == name or cleared[1] in anybody


def may_clear(function: Reading) -> bool:
    """Whether something that is called here clears, or may."""
    file = function.file
    bodies = [file.program.body_of(call.function) for call in function.parts(Call)]
    unread = (blur for block in (function.block, *bodies) for blur in file.parts_of(block, Blur))
    clears = any(act.kind is Kind.CLEAR for body in bodies for act in file.acts_of(body))
    return clears or any(Kind.CLEAR in blur.kinds for blur in unread)


def _in_place(function: Reading) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    for node in function.of(ast.AugAssign):
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Sub | ast.Add):
            yield node, node.target.id
    for call in function.of(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _IN_PLACE:
                yield call, name


def _reads(node: ast.AST, name: str) -> bool:
    return any(path_of(part) == f"{name}.grad" for part in below(node))


def is_leaf(value: ast.expr, scope: Scope) -> bool:
    """torch.zeros(3, requires_grad=True), and not a tensor of some other library; nn.Parameter(...)"""
    if not isinstance(value, ast.Call):
        return False
    dotted = scope.dotted(path_of(value.func) or "")
    asked = next((keyword.value for keyword in value.keywords if keyword.arg == "requires_grad"), None)
    if asked is None:
        return dotted == "torch.nn.Parameter"
    return dotted.startswith("torch.") and isinstance(asked, ast.Constant) and asked.value is True
