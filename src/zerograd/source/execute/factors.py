"""What a loss is: a mean or a sum over its items, and which numbers it was divided by, each by its identity.

[Note: factors] Multiplying by 1 / n is dividing by n. Of a sum only what all its terms were divided by divides it; of
two paths that meet, whatever one of them was divided by may have divided it.

[Note: literals] `(a + b) / 2` and a window of 2 micro-batches have nothing to do with each other. Where it matters that
a divisor is the very number that somebody else was told, a constant is known by where it was written.
"""

import ast
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from zerograd.source.execute.execution import Execution
from zerograd.source.heap.conditions import Linear
from zerograd.source.heap.values import (
    MEAN,
    SCALE_MARKS,
    SUM,
    Graph,
    Literal,
    Maybe,
    Multiplied,
    Times,
    Value,
    name_of,
    plain,
)


class Product(NamedTuple):
    """A loss and the number that it is divided or multiplied by."""

    loss: Value
    factor: Value


def product(operator: ast.operator, one: Value, other: Value) -> Product:
    """Which of two operands is the loss."""
    if not isinstance(operator, ast.Mult):
        return Product(one, other) if one.graph else Product(other, one)
    return Product(one, other) if _rank(one) >= _rank(other) else Product(other, one)


def _rank(value: Value) -> tuple[bool, bool, Graph]:
    return bool(value.reduction), value.graph is Graph.LIVE, value.graph


def divide(ex: Execution, loss: Value, factor: Value, *, times: bool = False) -> tuple[str, frozenset[Hashable]]:
    """(the reduction, what it was divided by) of a loss that is divided by one thing more, or multiplied by it."""
    if loss.reduction == SUM and not times and _is_number_of_items(ex, factor):
        # A weighted mean: the weights of the items divide out.
        return MEAN, frozenset(one for one in loss.divisors if not _is_weight(ex, one))
    summed = next((one for one in loss.divisors if isinstance(one, Times)), None)
    base = factor.number.base if isinstance(factor.number, Linear) else factor.id
    if summed is not None and not times and base is not None and summed.of in ex.identities.parts(base):
        return summed.reduction or MEAN, loss.divisors - {summed}  # sum(losses) / len(losses)
    if loss.graph is Graph.CUT and not times:
        ex.tables.divided.add((loss.id, name_of(factor)))
    literal = frozenset({Literal(factor.id)}) if factor.constant is not None and not times else frozenset()
    return loss.reduction, loss.divisors | {_divisor(factor, times=times)} | literal


def _divisor(factor: Value, *, times: bool) -> Hashable:
    told = factor.constant.value if factor.constant is not None else None
    if times and isinstance(told, (int, float)) and told:
        return ("k", round(1 / told, 9))
    return Multiplied(name_of(factor)) if times else name_of(factor)


def _is_number_of_items(ex: Execution, factor: Value) -> bool:
    """Whether something says how many items this very micro-batch has: a sum over them, or a length of its data."""
    if factor.graph and factor.reduction == SUM:
        return True
    number = factor.number
    base = number.base if isinstance(number, Linear) and number.base is not None else factor.id
    return _is_of_batch(ex, base)


def _is_weight(ex: Execution, divisor: Hashable) -> bool:
    one = divisor.factor if isinstance(divisor, Multiplied) else divisor
    return isinstance(one, int) and _is_of_batch(ex, one)


def _is_of_batch(ex: Execution, identity: int) -> bool:
    """Whether something is computed anew for each micro-batch."""
    loops = ex.loops[-1:]
    return any(loop in ex.born.get(part, ()) for part in ex.identities.parts(identity) for loop in loops)


def common(values: Iterable[Value]) -> frozenset[Hashable]:
    """What divides a sum of these, or whatever else is computed of them."""
    tensors = [value for value in values if value.graph >= Graph.LIVE]
    terms = [value for value in tensors if value.graph is Graph.LIVE] or tensors
    marks = frozenset(mark for value in tensors for mark in value.divisors & SCALE_MARKS)
    if not terms:
        return marks
    shared = frozenset.intersection(*(frozenset(map(plain, value.divisors)) for value in terms)) - marks
    sure = frozenset.intersection(*(value.divisors for value in terms))
    return marks | {one if one in sure else Maybe(one) for one in shared}
