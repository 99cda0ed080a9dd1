"""Small faults that one look at the text shows: detectors that need no flow."""

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.calls import site_of
from zerograd.source.scopes import Scope, path_of
from zerograd.source.skeleton import Act, Block, walk


class File:
    """What the detectors ask about the whole file."""

    def __init__(self, tree: ast.Module, path: str, text: str) -> None:
        self._tree = tree
        self.path = path
        self.has_scaler = "scaler" in text
        self.has_closure = "closure" in text

    @cached_property
    def updated(self) -> frozenset[str]:
        """The last names of everything that `.update()` is called on."""
        return frozenset(
            (path_of(node.func.value) or "").rpartition(".")[2]
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update"
        )

    @cached_property
    def scaler_leaves(self) -> bool:
        """Whether a scaler is handed on, to someone who may update it."""
        return any(
            isinstance(node, ast.Return | ast.Call) and _mentions(node, "scaler") and not _is_scaler_call(node)
            for node in ast.walk(self._tree)
        )


def detect(block: Block, nodes: Sequence[ast.AST], scope: Scope, file: File) -> Iterator[Finding]:
    if file.has_scaler:
        yield from _never_updated(block, file)
    if file.has_closure:
        yield from _closures(block, scope)
    yield from _rebound(nodes, scope, file.path)
    yield from _exhausted(nodes, scope, file.path)
    yield from _kept_graphs(block, nodes, file.path)


def _never_updated(block: Block, file: File) -> Iterator[Finding]:
    """scaler.step(optimizer) in a file that never updates that scaler."""
    for act in walk(block):
        if isinstance(act, Act) and act.kind is Kind.CONSUME and act.scaled and isinstance(act.node, ast.Call):
            scaler = path_of(act.node.func.value) if isinstance(act.node.func, ast.Attribute) else None
            last = (scaler or "").rpartition(".")[2]
            if scaler and last not in file.updated:
                certain = not file.scaler_leaves
                yield note(REGISTRY["ZG203"], act.site, certain=certain, step=act.what, scaler=scaler)


def _mentions(node: ast.AST, word: str) -> bool:
    """A scaler that is handed on: to a call as an argument, or to the caller."""
    handed = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else [node]
    return any(word in (path_of(part) or "").lower() for whole in handed for part in ast.walk(whole))


def _is_scaler_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and "scaler" in (path_of(node.func) or "").lower()


def _closures(block: Block, scope: Scope) -> Iterator[Finding]:
    """optimizer.step(closure) with a closure of this file that deposits and does not clear."""
    cleared = any(isinstance(act, Act) and act.kind is Kind.CLEAR for act in walk(block))
    for act in walk(block):
        if not (isinstance(act, Act) and act.kind is Kind.CONSUME and isinstance(act.node, ast.Call) and act.node.args):
            continue
        name = path_of(act.node.args[0]) if not act.scaled else None
        function = scope.function(name) if name else None
        if function is None:
            continue
        calls = [node for node in ast.walk(function.node) if isinstance(node, ast.Call)]
        names = {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)}
        clears = "zero_grad" in names or "zero_" in names or ".grad = None" in ast.unparse(function.node)
        if "backward" in names and not clears:
            yield note(REGISTRY["ZG009"], act.site, certain=not cleared, step=act.what)


def _rebound(nodes: Sequence[ast.AST], scope: Scope, path: str) -> Iterator[Finding]:
    """W = W - lr * W.grad, for a leaf that requires a gradient."""
    leaves = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _requires_grad(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=same), op=ast.Sub()) as value
            ):
                reads = any(path_of(part) == f"{name}.grad" for part in ast.walk(value))
                if name == same and name in leaves and reads:
                    what = ast.unparse(node)
                    yield note(REGISTRY["ZG304"], site_of(node, path), certain=True, what=what, name=name)


def _requires_grad(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and any(
        keyword.arg == "requires_grad" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in value.keywords
    )


def _exhausted(nodes: Sequence[ast.AST], scope: Scope, path: str) -> Iterator[Finding]:
    """params = model.parameters(); Optimizer(params); clip_grad_norm_(params)."""
    made: dict[str, list[ast.expr]] = {}
    uses: dict[str, list[ast.Call]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=value):
                name = path_of(target)
                if name:
                    made.setdefault(name, []).append(value)
            case ast.Call(args=[first, *_]):
                name = path_of(first)
                if name:
                    uses.setdefault(name, []).append(node)
    for name, values in made.items():
        if len(values) != 1 or not _is_generator(values[0]):
            continue
        calls = sorted(uses.get(name, ()), key=lambda call: (call.lineno, call.col_offset))
        makers = [call for call in calls if _makes_optimizer(call, scope)]
        for call in calls:
            if makers and call is not makers[0] and call.lineno > makers[0].lineno and _reads_parameters(call, scope):
                consumer = f"{path_of(makers[0].func)}() on line {makers[0].lineno}"
                related = (Related(site_of(makers[0], path), "it is read to the end here"),)
                yield note(
                    REGISTRY["ZG306"], site_of(call, path), certain=True, name=name, consumer=consumer, related=related
                )


def _is_generator(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id="filter")) | ast.GeneratorExp():
            return True
        case ast.Call(func=ast.Attribute(attr="parameters"), args=[]):
            return True
    return False


def _makes_optimizer(call: ast.Call, scope: Scope) -> bool:
    dotted = scope.dotted(path_of(call.func) or "")
    return dotted.startswith("torch.optim.") and ".lr_scheduler." not in dotted


def _reads_parameters(call: ast.Call, scope: Scope) -> bool:
    name = (path_of(call.func) or "").rpartition(".")[2]
    return name.startswith("clip_grad_") or _makes_optimizer(call, scope)


def _kept_graphs(block: Block, nodes: Sequence[ast.AST], path: str) -> Iterator[Finding]:
    """total += loss, where loss is what backward() was called on and total is never itself differentiated."""
    losses = {
        name
        for act in walk(block)
        if isinstance(act, Act) and act.kind is Kind.DEPOSIT and isinstance(act.node, ast.Call)
        if isinstance(act.node.func, ast.Attribute) and (name := path_of(act.node.func.value))
    }
    loops = [node for node in nodes if isinstance(node, ast.For | ast.While)]
    for node in (inner for inner in nodes if isinstance(inner, ast.AugAssign)):
        total, added = path_of(node.target), path_of(node.value)
        if not total or added not in losses or total in losses or not isinstance(node.op, ast.Add):
            continue
        if not _around(loops, node):
            continue
        if isinstance(node.target, ast.Subscript) or _feeds_a_loss(nodes, total, losses):
            continue
        plain = [
            other
            for other in nodes
            if isinstance(other, ast.Assign | ast.AugAssign) and other is not node and _assigns(other, added or "")
        ]
        taken = any(_takes_value(other) for other in plain)
        fresh = any(_resets(loop, total) or _counts_to_few(loop) for loop in _around(loops, node))
        if not taken and not fresh and not _under_no_grad(nodes, node):
            yield note(REGISTRY["ZG402"], site_of(node, path), certain=True, what=ast.unparse(node))


def _assigns(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return any(path_of(part) == name for target in targets for part in ast.walk(target))


def _takes_value(node: ast.AST) -> bool:
    """loss = loss.item(), loss = loss.detach(): from here on it is a number."""
    return any(isinstance(part, ast.Attribute) and part.attr in ("item", "detach", "data") for part in ast.walk(node))


def _around(loops: list[ast.For | ast.While], node: ast.AST) -> list[ast.For | ast.While]:
    """The innermost loop around a node."""
    around = [loop for loop in loops if node in ast.walk(loop)]
    return [max(around, key=lambda loop: loop.lineno)] if around else []


def _counts_to_few(loop: ast.For | ast.While) -> bool:
    """for _ in range(n): an inner loop over repetitions, not over the data."""
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and path_of(loop.iter.func) == "range"


def _feeds_a_loss(nodes: Sequence[ast.AST], total: str, losses: set[str]) -> bool:
    """Whether the sum is itself differentiated later, under whatever name."""
    return any(
        isinstance(node, ast.Assign)
        and any(path_of(part) == total for part in ast.walk(node.value))
        and any(path_of(target) in losses for target in node.targets)
        for node in nodes
    )


def _resets(loop: ast.For | ast.While, name: str) -> bool:
    return any(isinstance(node, ast.Assign) and _assigns(node, name) for node in ast.walk(loop))


def _under_no_grad(nodes: Sequence[ast.AST], node: ast.AST) -> bool:
    return any(
        isinstance(other, ast.With) and "no_grad" in ast.unparse(other.items[0]) and node in ast.walk(other)
        for other in nodes
    )
