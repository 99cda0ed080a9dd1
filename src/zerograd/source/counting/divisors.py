"""What divides a loss: a division, a factor that counts something, or a loss function of the project that is told."""

import ast
import re

from zerograd.source.counting.counters import ACCUMULATION
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import Nodes, below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_MEASURED = pattern(r"\.(sum|numel|size|shape|mean|norm|nelement|count_nonzero)\b")  # of tensors


def divides_by_what_it_is_told(function: Function) -> bool:
    """loss_fn(out, y, n): return total / n. A function that divides by what it finds itself makes a mean, as any loss
    does; one that only sums, none."""
    text = written(function.node)
    if ACCUMULATION.search(text.lower()) or ("sum" in text and "/" not in text and "mean" not in text):
        return True
    if "/" not in text and "sum" not in text and ".div" not in text:
        return False
    nodes = Nodes(function.node)
    divisors = [node.right for node in nodes.of(ast.BinOp) if isinstance(node.op, ast.Div)]
    divisors += [node.value for node in nodes.of(ast.AugAssign) if isinstance(node.op, ast.Div)]
    divisors += [call.args[0] for call in nodes.of(ast.Call) if call.args and divides(call.func)]
    products = [node for node in nodes.of(ast.BinOp) if isinstance(node.op, ast.Mult)]
    scales = [side for node in products for side in (node.left, node.right) if path_of(side) and counts(side)]
    return bool(scales) or not all(_MEASURED.search(written(by)) for by in divisors)


def divides(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and func.attr in ("div", "div_")


def counts(node: ast.expr) -> bool:
    return bool(re.search(r"len|size|num|count|tokens|norm|scale|accum|world|weight|ratio|frac", written(node).lower()))


def is_weighted_mean(node: ast.BinOp) -> bool:
    """(loss * mask).sum() / mask.sum(): a mean over the items of this micro-batch, as any other."""
    total, weights = _summed(node.left), _summed(_at_least(node.right))
    if total is None or weights is None or not isinstance(total, ast.BinOp) or not isinstance(total.op, ast.Mult):
        return False
    path = path_of(weights)
    parts = below(total)
    divided = any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) for part in parts)
    return path is not None and not divided and path in (path_of(total.left), path_of(total.right))


def _summed(node: ast.expr) -> ast.expr | None:
    """x, of x.sum() and torch.sum(x)"""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="sum"), args=[value]):
            return value
        case ast.Call(func=ast.Attribute(value=value, attr="sum"), args=[], keywords=[]):
            return value
    return None


def _at_least(node: ast.expr) -> ast.expr:
    """mask.sum(), of (mask.sum() + 1e-6) and of mask.sum().clamp(min=1)"""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant() | ast.Name()):
            return left
        case ast.Call(func=ast.Attribute(value=value, attr="clamp" | "clamp_min" | "clamp_")):
            return value
    return node
