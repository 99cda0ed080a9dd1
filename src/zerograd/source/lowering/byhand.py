"""What a statement does to `.grad` by hand: `p.grad = None`, `del p.grad`, `p.grad = g`, `p.grad /= n`."""

import ast
from collections.abc import Callable, Iterable, Iterator

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS
from zerograd.source.lowering.calls import site_of
from zerograd.source.lowering.skeleton import Act, Blur
from zerograd.source.text.nodes import written

_Assignment = ast.Assign | ast.AugAssign | ast.AnnAssign


def read_assignment(node: _Assignment, path: str, reaches_some: Callable[[ast.expr], bool]) -> Iterable[Act | Blur]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Attribute | ast.Tuple):
            return _read(node, path, reaches_some)
    return ()


def read_deletion(node: ast.Delete, path: str, reaches_some: Callable[[ast.expr], bool]) -> Iterator[Act]:
    for target in node.targets:
        if isinstance(target, ast.Attribute) and target.attr == "grad":
            what, some = f"del {written(target)}", reaches_some(target.value)
            yield Act(Kind.CLEAR, None, site_of(node, path), what, partial=some)


def _read(node: _Assignment, path: str, reaches_some: Callable[[ast.expr], bool]) -> Iterator[Act | Blur]:
    match node:
        case ast.Assign(targets=targets, value=ast.Constant(value=None)):
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr == "grad":
                    what, some = f"{written(target)} = None", reaches_some(target.value)
                    yield Act(Kind.CLEAR, None, site_of(node, path), what, partial=some)
        case ast.Assign(targets=targets) if any(_is_gradient(target) for target in targets):
            site = site_of(node, path)
            yield Blur(ALL_DOUBTS, None, site, "this assignment")  # gradients of the user's own making
        case ast.AugAssign(target=target, op=ast.Mult() | ast.Div()) if _is_gradient(target):
            yield Act(Kind.RESCALE, None, site_of(node, path), written(node))


def _is_gradient(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):  # a.grad, b.grad = torch.autograd.grad(loss, [a, b])
        return any(map(_is_gradient, target.elts))
    if isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    return isinstance(target, ast.Attribute) and target.attr in ("grad", "_grad")
