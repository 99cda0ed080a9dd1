"""A value: which objects it may be, its number, its graph, and the test that it answers."""

from collections.abc import Hashable
from enum import Enum, IntEnum
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.source.heap.conditions import Asked, Known, Linear, Remainder, Test, both, either, leaves, negate
from zerograd.source.heap.objects import Obj, ObjectKind

Regions = frozenset[Obj]
NO_OBJECTS: frozenset[Obj] = frozenset()
Beginnings = frozenset[int]  # see [Note: through]
NO_GRAPHS: Beginnings = frozenset()
MAYBE_SCALED = ("maybe multiplied by the loss scale",)
LOSS_SCALE = ("the loss scale",)
SCALE_MARKS: frozenset[Hashable] = frozenset({LOSS_SCALE, MAYBE_SCALED})
MEAN, SUM = "mean", "sum"
NO_DIVISORS: frozenset[Hashable] = frozenset()
NOT_KEPT: frozenset[Site] = frozenset()
IdleTerm = tuple[Site, frozenset[Obj]]  # (where it was added, whose graph was cut from it)
NO_IDLE_TERMS: frozenset[IdleTerm] = frozenset()
Slope = tuple[Obj, int]  # (whose gradient was read, where)
NO_SLOPES: frozenset[Slope] = frozenset()
Applied = tuple[Obj | None, Obj]  # (who made the input, who was applied to it); None: it has no graph
NOTHING_APPLIED: frozenset[Applied] = frozenset()


class Coat(Enum):
    """Whether a module is meant as it is, or in the wrapper that averages its gradients over the ranks."""

    BARE = "bare"
    WRAPPED = "wrapped"
    EITHER = "either"

    __hash__ = object.__hash__


class Pass(NamedTuple):
    """A forward pass of a network that is averaged over the ranks. See [Note: ranks]."""

    module: Obj
    site: Site  # where it is decided whether the wrapper hears of it
    text: str
    unsynced: Test  # whether its gradients stay with the rank
    is_past: bool = False  # the module itself was called, not its wrapper


class Picked(NamedTuple):
    """Which of two things a value is: as a test is answered, and where that was asked."""

    test: Test
    yes: frozenset[Obj]
    no: frozenset[Obj]
    site: Site | None = None
    text: str = ""


NO_PASSES: frozenset[Pass] = frozenset()
Iterators = frozenset[tuple[Obj, bool]]  # (an iterator, whether it is one of them on every path)
NO_ITERATORS: Iterators = frozenset()


class Maybe(NamedTuple):
    """What divides on some of the paths that have met."""

    divisor: Hashable


class Multiplied(NamedTuple):
    """A loss was multiplied by this, which may be 1 / n: then n has divided it."""

    factor: Hashable


class Literal(NamedTuple):
    """What divides is a constant: by where it was written, so that one 2 is told from another."""

    id: int


class Times(NamedTuple):
    """A loss is a sum over so many others: as many as an iterable gives."""

    of: int  # the identity of the iterable
    reduction: str  # of each of them


def plain(divisor: Hashable) -> Hashable:
    return divisor.divisor if isinstance(divisor, Maybe) else divisor


_MANY = 40  # objects that one value may be
_MOST_LEAVES = 4  # questions of one flag


class Graph(IntEnum):
    NONE = 0  # no tensor
    CUT = 1  # a tensor without a graph
    LIVE = 2  # a tensor that has recorded a graph
    ANY = 3  # one or the other


class Constant(NamedTuple):
    value: Hashable


class Value(NamedTuple):
    id: int  # equal ids: the same run-time value on one path
    objects: frozenset[Obj] = NO_OBJECTS  # what it may be
    exact: bool = True  # it is one of these and nothing else
    number: Linear | Remainder | None = None
    graph: Graph = Graph.NONE
    made_of: Regions = NO_OBJECTS  # whose parameters its graph goes through: an upper bound
    sure: Regions = NO_OBJECTS  # a lower bound
    test: Test | None = None  # the question that it is the answer to
    none_test: Test | None = None  # the question whether it is None
    constant: Constant | None = None
    length: Linear | None = None  # of what can be iterated
    reduction: str = ""  # of a loss: MEAN or SUM
    divisors: frozenset[Hashable] = NO_DIVISORS  # see [Note: factors]
    scaled: bool = False  # multiplied by a loss scale
    cut_from: Regions = NO_OBJECTS  # of a CUT value: whose graph was cut off
    idle: frozenset[IdleTerm] = NO_IDLE_TERMS  # of a loss: the terms that were added to it without their graph
    applied: frozenset[Applied] = NOTHING_APPLIED  # which network was applied to what which other one made
    slopes: frozenset[Slope] = NO_SLOPES  # the gradients that it was computed from
    output_of: Obj | None = None  # the network whose output it is, with another sign or summed up, and nothing else
    kept: frozenset[Site] = NOT_KEPT  # where it, or a part of it, was added to what outlives an iteration
    coat: Coat = Coat.BARE  # of a module
    passes: frozenset[Pass] = NO_PASSES  # of a loss: through networks that are averaged over the ranks
    picked: Picked | None = None  # of one of two things
    iterators: Iterators = NO_ITERATORS  # which are used up when it is read
    through: Beginnings = NO_GRAPHS  # where its graph may have begun


def joined_graph(one: Graph, other: Graph) -> Graph:
    if one is other:
        return one
    if Graph.NONE in (one, other):
        return max(one, other)
    return Graph.ANY


def linear(value: Value) -> Linear:
    """A value as base + offset."""
    return value.number if isinstance(value.number, Linear) else Linear(value.id, 0)


def name_of(value: Value) -> Hashable:
    """What stands for a value in a question: a constant, or its identity."""
    if value.constant is not None:
        return ("k", value.constant.value)
    if isinstance(value.number, Linear):
        return ("k", value.number.offset) if value.number.base is None else value.number
    return value.id


def is_none(value: Value) -> bool:
    return value.constant is not None and value.constant.value is None


def join(one: Value, other: Value, identity: int, test: Test | None = None) -> Value:
    """Where two paths meet. `test`: what sent them apart, `one` being the side that answered yes."""
    if one is other or one == other:
        return one
    alike = one.id == other.id
    both_tensors = bool(one.graph and other.graph)
    flag, none_test = None, None
    if test is not None:
        flag = _flag(one, other, test)
        none_test = _none_test(one, other, test)
    elif one[10:] == other[10:] and one.graph is other.graph:  # as nearly all are: in `length` and what follows
        return Value._make(
            (
                one.id if alike else identity,
                _few(one.objects | other.objects, one.exact and other.exact),
                one.exact and other.exact,
                one.number if one.number == other.number else None,
                one.graph,
                one.made_of | other.made_of,
                one.sure & other.sure if both_tensors else one.sure or other.sure,
                one.test if one.test == other.test else None,
                one.none_test if one.none_test == other.none_test else None,
                one.constant if one.constant == other.constant else None,
                *one[10:],
            )
        )
    return Value(
        one.id if alike else identity,
        _few(one.objects | other.objects, one.exact and other.exact),
        one.exact and other.exact,
        one.number if one.number == other.number else None,
        joined_graph(one.graph, other.graph),
        one.made_of | other.made_of,
        one.sure & other.sure if both_tensors else one.sure or other.sure,
        flag or (one.test if one.test == other.test else None),
        none_test or (one.none_test if one.none_test == other.none_test else None),
        one.constant if one.constant == other.constant else None,
        one.length if one.length == other.length else None,
        one.reduction if one.reduction == other.reduction else _told(one, other),
        _divisors(one, other),
        one.scaled or other.scaled,
        one.cut_from | other.cut_from,
        one.idle | other.idle,
        one.applied | other.applied,
        one.slopes | other.slopes,
        one.output_of if one.output_of is other.output_of else None,
        one.kept | other.kept,
        one.coat if one.coat is other.coat else Coat.EITHER,
        # Where one path has none, nobody knows of the other.
        one.passes | other.passes if one.passes and other.passes else NO_PASSES,
        _picked(one, other, test) if test is not None else one.picked if one.picked == other.picked else None,
        one.iterators if one.iterators == other.iterators else _iterators(one, other),
        one.through | other.through,
    )


def _few(objects: frozenset[Obj], exact: bool) -> frozenset[Obj]:
    """Of what may be something else anyway, not all given things need be named."""
    if exact or len(objects) <= _MANY:
        return objects
    given = sorted(one for one in objects if one.kind is ObjectKind.GIVEN)
    return objects.difference(given[_MANY:])


def _iterators(one: Value, other: Value) -> Iterators:
    sure = one.iterators & other.iterators
    others = {iterator for iterator, _ in one.iterators ^ other.iterators if (iterator, True) not in sure}
    return sure | {(iterator, False) for iterator in others}


def _picked(one: Value, other: Value, test: Test) -> Picked | None:
    """Which of two things it is. One that was chosen before is chosen by both tests."""
    if one.picked is not None and other.picked is None:
        return _narrowed(one.picked, other, test)
    if other.picked is not None and one.picked is None:
        return _narrowed(other.picked, one, negate(test))
    apart = one.objects and other.objects and one.objects.isdisjoint(other.objects)
    # What comes from outside is one thing, even if nobody knows which.
    are_known = all(value.exact or len(value.objects) == 1 for value in (one, other))
    return Picked(test, one.objects, other.objects) if apart and are_known else None


def _narrowed(picked: Picked, other: Value, test: Test) -> Picked | None:
    """A choice that is made where a test is answered yes; where it is not, it is one of the two in any case."""
    if other.exact and other.objects == picked.no:
        return picked._replace(test=both(test, picked.test))
    if other.exact and other.objects == picked.yes:
        return picked._replace(test=either(negate(test), picked.test))
    return None


def _divisors(one: Value, other: Value) -> frozenset[Hashable]:
    found = one.divisors | other.divisors
    if one.graph and other.graph and one.divisors != other.divisors:
        sure = (one.divisors & other.divisors) | (found & SCALE_MARKS)
        found = sure | {Maybe(plain(each)) for each in found - sure if plain(each) not in sure}
    return found | {MAYBE_SCALED} if one.scaled != other.scaled and one.graph and other.graph else found


def _told(one: Value, other: Value) -> str:
    """The reduction where only one of two values is a loss."""
    if not other.graph:
        return one.reduction
    return other.reduction if not one.graph else ""


def _flag(one: Value, other: Value, test: Test) -> Test | None:
    """Yes or no on either side: the test itself, or both tests together."""
    yes, no = _answer(one), _answer(other)
    if yes is None or no is None or yes == no:
        return None
    whole = either(both(test, yes), both(negate(test), no))
    return whole if len(leaves(whole)) <= _MOST_LEAVES else None


def _answer(value: Value) -> Test | None:
    if value.constant is not None:
        return Known(bool(value.constant.value)) if value.constant.value in (0, 1) else None
    return value.test if not value.objects and not value.graph else None


def _none_test(one: Value, other: Value, test: Test) -> Test | None:
    """None on one side and something on the other: whether it is None is the test itself."""
    if is_none(one) and not is_none(other) and _is_something(other):
        return test if other.exact else negate(both(negate(test), negate(Asked("none", (other.id,)))))
    if is_none(other) and not is_none(one) and _is_something(one):
        return negate(test) if one.exact else negate(both(test, negate(Asked("none", (one.id,)))))
    return None


def _is_something(value: Value) -> bool:
    nones = any(one.kind is ObjectKind.NONE for one in value.objects)
    return not nones and bool(value.objects or value.graph)
