"""Expressions: what a name, an operator or a comparison gives."""

import ast
from collections.abc import Callable, Hashable, Sequence

from zerograd.core.events import Kind
from zerograd.core.facts import doubt
from zerograd.source.effects import python
from zerograd.source.effects.lookup import may_be_raised_by_backward
from zerograd.source.execute import (
    attributes,
    branches,
    calls,
    containers,
    counters,
    factors,
    gradients,
    graphs,
    iterators,
    keeping,
    lost_updates,
    passing,
    statements,
    unfilled,
)
from zerograd.source.execute.execution import Execution, Frame, Unreachable
from zerograd.source.execute.paths import State
from zerograd.source.execute.walked import Why
from zerograd.source.heap.conditions import (
    YES,
    Asked,
    Known,
    Linear,
    Remainder,
    Test,
    both,
    either,
    is_followed,
    leaves,
    negate,
)
from zerograd.source.heap.objects import ObjectKind, Shape
from zerograd.source.heap.values import (
    LOSS_SCALE,
    NO_IDLE_TERMS,
    NO_ITERATORS,
    NO_OBJECTS,
    Graph,
    Value,
    is_none,
    join,
    linear,
    name_of,
)
from zerograd.source.project.files import Definition, External
from zerograd.source.project.index import Class, File, Function


def evaluate(ex: Execution, node: ast.expr) -> Value:
    compute = _EXPRESSIONS.get(type(node))
    return compute(ex, node) if compute is not None else ex.unknown(node)


# --- names


def _constant(ex: Execution, node: ast.Constant) -> Value:
    value = ex.constant(node.value if node.value is not Ellipsis else "...")
    if type(node.value) is int and node.value > 1:
        return value._replace(id=ex.identities.of("literal", node))  # see [Note: literals]
    return value


def _name(ex: Execution, node: ast.Name) -> Value:
    return _as_answered(ex, read_name(ex, node.id))


def _as_answered(ex: Execution, value: Value) -> Value:
    """One of two things, in a branch that asks again what has decided which of them it is."""
    if value.picked is None:
        return value
    picked, asked = value.picked, {guard.test: guard.yes for guard in ex.guards}
    yes, no = asked.get(picked.test), asked.get(negate(picked.test))
    if yes is None and no is None:
        return value
    return value._replace(objects=picked.yes if yes or no is False else picked.no, picked=None)


def read_name(ex: Execution, name: str) -> Value:
    if name == python.MAIN:
        return ex.constant("__main__" if ex.frame.file is ex.main else "module")
    frame: Frame | None = ex.frame
    if name not in ex.frame.global_names:
        while frame is not None:
            found = ex.store.get((frame.id, name))
            if found is not None:
                if (frame.id, name) in ex.unread:
                    lost_updates.read(ex, (frame.id, name))
                return found
            frame = frame.parent
    return global_name(ex, ex.frame.file, name)


def global_name(ex: Execution, file: File, name: str) -> Value:
    found = ex.store.get((statements.module_frame(file), name))
    if found is not None:
        return found
    definition = ex.project.definition(file, name)
    if definition is not None:
        return defined(ex, definition, name)
    if name in python.BUILTINS:
        return external(ex, f"builtins.{name}")
    return ex.given("name", file.path, name, name=name)


def defined(ex: Execution, definition: Definition | None, dotted: str) -> Value:
    """The value of a definition; of one that nobody can read, its qualified name."""
    if definition is None:
        return external(ex, dotted)
    if isinstance(definition, External):
        return external(ex, definition.name)
    if isinstance(definition, File):
        obj = ex.heap.of("file", definition.path, kind=ObjectKind.FILE)
        obj.file = definition
        return ex.thing(obj)
    if isinstance(definition, Class):
        return calls.class_value(ex, definition)
    if isinstance(definition, Function):
        return calls.plain_function(ex, definition)
    if isinstance(definition.value, ast.Constant):
        return evaluate(ex, definition.value)
    return ex.given("global", definition.file.path, definition.name, name=definition.name)


def external(ex: Execution, name: str) -> Value:
    obj = ex.heap.of("external", name, kind=ObjectKind.EXTERNAL)
    obj.name = name
    return ex.thing(obj)


def qualified_name(ex: Execution, node: ast.expr) -> str:
    """The qualified name that an expression stands for, if it is a name from outside."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return ""
    names = [one.name for one in evaluate(ex, node).objects if one.kind is ObjectKind.EXTERNAL]
    return names[0] if len(names) == 1 else ""


def as_load(node: ast.expr) -> ast.expr:
    """The same target, to be read."""
    if isinstance(node, ast.Name):
        return ast.copy_location(ast.Name(node.id, ast.Load()), node)
    return node


def _walrus(ex: Execution, node: ast.NamedExpr) -> Value:
    value = evaluate(ex, node.value)
    statements.bind(ex, node.target, value, node)
    return value


def _text(ex: Execution, node: ast.JoinedStr) -> Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            evaluate(ex, part.value)
    return Value(ex.fresh(node))


def _lambda(ex: Execution, node: ast.Lambda) -> Value:
    return calls.function_value(ex, node)


def _await(ex: Execution, node: ast.Await | ast.Starred) -> Value:
    return evaluate(ex, node.value)


def _yield(ex: Execution, node: ast.Yield | ast.YieldFrom) -> Value:
    value = evaluate(ex, node.value) if node.value is not None else ex.none
    if ex.frame.consumer is not None and isinstance(node, ast.Yield):
        ex.frame.consumer(value)
        if ex.path is None:
            raise Unreachable
        return ex.unknown(node)
    state = ex.capture(ex.frame.level)
    ex.frame.returns.append((State(state.changes, state.path.copy()), value))
    return ex.unknown(node)


# --- choices


def _choice(ex: Execution, node: ast.IfExp) -> Value:
    test = truth(ex, evaluate(ex, node.test))
    return choose(ex, node, test, [lambda: evaluate(ex, node.body), lambda: evaluate(ex, node.orelse)])


def choose(ex: Execution, node: ast.expr, test: Test, arms: Sequence[Callable[[], Value]]) -> Value:
    """One of two expressions, as a test is answered."""
    paths = branches.split(ex, test)
    keys = [ex.branch(node, 0), ex.branch(node, 1)]
    outs: list[State | None] = []
    values: list[Value] = []
    for number, path in enumerate(paths):
        if path.is_dead:
            outs.append(None)
            continue
        ex.path = path
        if not is_followed(test):
            for slot, kinds in ex.tables.skipped(keys[1 - number]).items():
                if slot in path.facts:
                    ex.excuses.note(ex, slot, kinds, node, Why.TEST)
                    path.facts[slot] = doubt(path.facts[slot], kinds)
        level = ex.store.open()
        ex.records.append(keys[number])
        try:
            values.append(arms[number]())
            outs.append(ex.capture(level) if ex.path is not None else None)
        except Unreachable:
            outs.append(None)
        ex.records.pop()
        ex.store.undo(level)
    if any(key in ex.tables.emitted for key in keys):
        branches.weigh(ex, test, node)
    ex.meet(outs, (node, ex.context), test)
    if ex.path is None or not values:
        raise Unreachable
    if len(values) == 1:
        return values[0]
    asked = node.test if isinstance(node, ast.IfExp) else node
    return ex.picked_at(ex.joined(values[0], values[1], ex.identities.of("met", node, ex.context), test), asked)


def _bool_op(ex: Execution, node: ast.BoolOp) -> Value:
    """`a and b`: what b does is done only if a is true."""
    first = evaluate(ex, node.values[0])
    test = truth(ex, first)
    value = first
    for operand in node.values[1:]:
        if isinstance(node.op, ast.And):
            second = _guarded(ex, node, test, operand, yes=True)
            test = both(test, truth(ex, second)) if second is not None else test
        else:
            second = _guarded(ex, node, test, operand, yes=False)
            test = either(test, truth(ex, second)) if second is not None else test
        if second is not None:
            value = join(value, second, ex.identities.of("met", operand, ex.context))
    return value._replace(id=ex.fresh(node), test=test, constant=None, number=None)


def _guarded(ex: Execution, node: ast.expr, test: Test, operand: ast.expr, *, yes: bool) -> Value | None:
    known = ex.frame.file.guarded
    if operand not in known:
        known[operand] = _may_act(operand)
    if not known[operand]:
        return evaluate(ex, operand)
    found: list[Value] = []

    def asked() -> Value:
        found.append(evaluate(ex, operand))
        return found[-1]

    def skipped() -> Value:
        return ex.none

    choose(ex, operand, test, [asked, skipped] if yes else [skipped, asked])
    return found[-1] if found else None


def _may_act(node: ast.expr) -> bool:
    return any(isinstance(part, (ast.Call, ast.NamedExpr)) for part in ast.walk(node))


def _unary(ex: Execution, node: ast.UnaryOp) -> Value:
    value = evaluate(ex, node.operand)
    if isinstance(node.op, ast.Not):
        return Value(ex.fresh(node), test=negate(truth(ex, value)))
    if isinstance(node.op, ast.USub) and value.constant is not None and isinstance(value.constant.value, (int, float)):
        return ex.constant(-value.constant.value)
    if value.graph:
        made = graphs.tensor(ex, [value], ex.fresh(node))
        return made._replace(reduction=value.reduction, idle=value.idle, output_of=value.output_of)
    return value._replace(id=ex.fresh(node), number=None, constant=None, test=None)


# --- truth


def truth(ex: Execution, value: Value) -> Test:
    """The question whether a value is true."""
    if value.test is not None:
        return value.test
    if value.constant is not None:
        return Known(bool(value.constant.value))
    if isinstance(value.number, Remainder) or counters.wraps(ex, value):
        return negate(compare(ex, ast.Eq(), value, ex.constant(0)))
    if value.objects and value.exact:
        kinds = {one.kind for one in value.objects}
        if kinds == {ObjectKind.NONE} and value.graph < Graph.LIVE:
            return Known(False)
        if not kinds & _MAY_BE_FALSE:
            return Known(True)
    if value.none_test is not None:
        return negate(value.none_test)
    return Asked("true", (value.id,))


_MAY_BE_FALSE = {
    ObjectKind.NONE,
    ObjectKind.GIVEN,
    ObjectKind.EXTERNAL,
    ObjectKind.CONTAINER,
    ObjectKind.LOADER,
    ObjectKind.INSTANCE,
    ObjectKind.LEAF,
    ObjectKind.PARAMETER,
    ObjectKind.GRADIENT,
}


def asks_none(ex: Execution, value: Value) -> Test:
    """The question whether a value is None."""
    unfilled.asked(ex, value)
    if value.none_test is not None:
        return value.none_test
    if value.objects and value.exact:
        kinds = {one.kind for one in value.objects}
        if kinds == {ObjectKind.NONE} and value.graph < Graph.LIVE:
            return YES
        if ObjectKind.NONE not in kinds or ObjectKind.GRADIENT in kinds:
            ex.asks_gradient = ex.asks_gradient or ObjectKind.GRADIENT in kinds
            if ObjectKind.GRADIENT in kinds and ex.path is not None:  # who asks may fill it where there is none
                regions = frozenset(region for one in value.objects for region in one.regions)
                gradients.doubt_regions(ex, regions, frozenset({Kind.DEPOSIT}))
            return Known(False)
    elif value.constant is not None or (value.graph is Graph.LIVE and not value.objects):
        return Known(False)
    return Asked("none", (value.id,))


def _compare(ex: Execution, node: ast.Compare) -> Value:
    left = evaluate(ex, node.left)
    test: Test = YES
    operands = [left]
    for operator, right in zip(node.ops, node.comparators, strict=True):
        other = evaluate(ex, right)
        operands.append(other)
        asked = compare(ex, operator, left, other)
        counters.note_asked(ex, (left, other), asked)
        test, left = both(test, asked), other
    identity = ex.fresh(node)
    graphs.mark(ex, identity, operands)
    if any(operand.graph for operand in operands) and not any(is_none(operand) for operand in operands):
        whole = graphs.tensor(ex, operands, identity)
        return Value(identity, graph=Graph.CUT, test=test, exact=False, cut_from=whole.made_of | whole.cut_from)
    return Value(identity, test=test)


_CONSTANT_COMPARISONS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: lambda one, other: one == other,
    ast.NotEq: lambda one, other: one != other,
    ast.Lt: lambda one, other: one < other,  # type: ignore[operator]
    ast.LtE: lambda one, other: one <= other,  # type: ignore[operator]
    ast.Gt: lambda one, other: one > other,  # type: ignore[operator]
    ast.GtE: lambda one, other: one >= other,  # type: ignore[operator]
    ast.Is: lambda one, other: one is other,
    ast.IsNot: lambda one, other: one is not other,
}


def compare(ex: Execution, operator: ast.cmpop, one: Value, other: Value) -> Test:
    if isinstance(operator, (ast.IsNot, ast.NotEq, ast.NotIn)):
        positive = {ast.IsNot: ast.Is, ast.NotEq: ast.Eq, ast.NotIn: ast.In}[type(operator)]()
        return negate(compare(ex, positive, one, other))
    if isinstance(operator, (ast.Is, ast.Eq)) and (is_none(one) or is_none(other)):
        return asks_none(ex, one if is_none(other) else other)
    if one.constant is not None and other.constant is not None:
        known = _CONSTANT_COMPARISONS.get(type(operator))
        if known is not None:
            try:
                return Known(bool(known(one.constant.value, other.constant.value)))
            except TypeError:
                pass
    if isinstance(operator, ast.Eq):
        test = _counter_equals(ex, one, other)
        if test is not None:
            return test
    if isinstance(operator, (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
        test = _counter_exceeds(ex, operator, one, other)
        if test is not None:
            return test
    return _question(operator, name_of(one), name_of(other))


def _question(operator: ast.cmpop, one: Hashable, other: Hashable) -> Test:
    """One question for `x > y` and `y < x`, and for `x == y` and `y == x`."""
    if isinstance(operator, (ast.Gt, ast.GtE)):
        one, other = other, one
    if isinstance(operator, (ast.GtE, ast.LtE)):
        return negate(Asked("<", (other, one)))
    if isinstance(operator, (ast.Gt, ast.Lt)):
        return Asked("<", (one, other))
    if isinstance(operator, ast.Eq):
        return Asked("==", tuple(sorted((one, other), key=repr)))
    return Asked("is" if isinstance(operator, ast.Is) else "in", (one, other))


def _counter_equals(ex: Execution, one: Value, other: Value) -> Test | None:
    for value, wanted in ((one, other), (other, one)):
        if isinstance(value.number, Remainder):
            test = counters.window_test(ex, value.number, wanted)
            if test is not None:
                return test
    last = counters.last_test(ex, one, other)
    if last is not None:
        return last
    for value, wanted in ((one, other), (other, one)):
        mine, theirs = linear(value), linear(wanted)
        counter = counters.counter_of(ex, mine.base)
        if counter is None or mine.base is None:
            continue
        if counter in ex.tables.wraps:
            test = counters.window_test(ex, Remainder(mine.base, mine.offset, ex.tables.wraps[counter]), wanted)
            if test is not None:
                return test
        starts = theirs.base is None and theirs.offset <= mine.offset
        if counter in ex.tables.resets and mine.base != theirs.base and not starts:
            test = counters.window_test(ex, Remainder(mine.base, mine.offset, theirs), ex.constant(0))
            if test is not None:
                return test
        if theirs.base is None:
            return counters.first_test(ex, counter, theirs.offset - mine.offset)
    return None


def _counter_exceeds(ex: Execution, operator: ast.cmpop, one: Value, other: Value) -> Test | None:
    """`i > 0`, `i >= 1`, `count >= n`, `epoch < 5`: whether a counter has reached a bound."""
    low, high = linear(one), linear(other)
    if isinstance(operator, (ast.Gt, ast.GtE)):
        low, high = high, low
    strict = isinstance(operator, (ast.Gt, ast.Lt))
    if counters.counter_of(ex, high.base) is not None:
        return _has_reached(ex, high, low._replace(offset=low.offset + strict))
    if counters.counter_of(ex, low.base) is not None:
        reached = _has_reached(ex, low, high._replace(offset=high.offset + (not strict)))
        return negate(reached) if reached is not None else None
    return None


def _has_reached(ex: Execution, number: Linear, bound: Linear) -> Test | None:
    """counter + k >= bound. Of a counter that is set back, that is the end of a window."""
    counter = counters.counter_of(ex, number.base)
    assert counter is not None
    assert number.base is not None
    if counter in ex.tables.resets and number.base != bound.base and bound != Linear(None, number.offset + 1):
        ends = counters.window_test(ex, Remainder(number.base, number.offset, bound), ex.constant(0))
        if ends is not None:
            return ends
    count = counters.count_of(ex, counter)
    begins, first = count.start, bound.offset - number.offset  # true from `first` on
    if not count.counts_by_one() or bound.base is not None or begins.base is not None:
        return None
    if begins.offset >= first:
        return YES
    before = counters.first_test(ex, counter, begins.offset)
    if begins.offset == first - 1:
        return negate(before)
    return negate(either(before, Asked("<", (number, ("k", bound.offset)))))  # not in the first iteration, at least


def asks_tensor(ex: Execution, test: Test) -> bool:
    """Whether a test looks at something that was computed from a graph: a loss, a norm."""
    for question in leaves(test):
        if isinstance(question, Asked):
            for one in question.of:
                base = one.base if isinstance(one, Linear) else one
                if isinstance(base, int) and not ex.tensor_ids.isdisjoint(ex.identities.parts(base)):
                    return True
    return False


def may_catch_backward(handler: ast.ExceptHandler) -> bool:
    """Whether a handler may catch what a backward pass raises."""
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in types}
    if not may_be_raised_by_backward(names):
        return False
    # It asks what went wrong: of what a backward pass says, memory alone is known.
    said = [
        part.value
        for compared in ast.walk(handler)
        if handler.name and isinstance(compared, ast.Compare)
        for part in ast.walk(compared)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return not said or any(word in text for text in said for word in python.OUT_OF_MEMORY)


# --- operators


def _binary(ex: Execution, node: ast.BinOp) -> Value:
    return combine(ex, node, node.op, evaluate(ex, node.left), evaluate(ex, node.right))


_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda one, other: one + other,
    ast.Sub: lambda one, other: one - other,
    ast.Mult: lambda one, other: one * other,
    ast.Div: lambda one, other: one / other,
    ast.FloorDiv: lambda one, other: one // other,
    ast.Mod: lambda one, other: one % other,
    ast.Pow: lambda one, other: one**other if abs(other) < 64 else float("inf"),
}


def combine(ex: Execution, node: ast.AST, operator: ast.operator, one: Value, other: Value) -> Value:
    """one <operator> other"""
    if one.constant is not None and other.constant is not None:
        known = _ARITHMETIC.get(type(operator))
        first, second = one.constant.value, other.constant.value
        if known is not None and isinstance(first, (int, float)) and isinstance(second, (int, float)):
            try:
                return ex.constant(known(first, second))
            except (ZeroDivisionError, OverflowError):
                pass
    number = _number(operator, one, other)
    if isinstance(number, Remainder) and other.constant is not None:
        ex.tables.moduli[other.id] = number.of
    if number is None and isinstance(operator, ast.Add):
        number = counters.whole_counter(ex, one, other)
    if isinstance(number, Remainder) and isinstance(node, ast.BinOp) and number.of not in ex.tables.named:
        ex.tables.named[number.of] = ast.unparse(node.right)
    if isinstance(operator, ast.Div) and isinstance(node, ast.BinOp) and linear(other) not in ex.tables.named:
        ex.tables.named[linear(other)] = ast.unparse(node.right)
    if isinstance(operator, (ast.Div, ast.FloorDiv)) and isinstance(one.number, Linear):
        ex.tables.shares.add((one.number, name_of(other)))
    if isinstance(operator, ast.Div) and one.cut_from:
        ex.tables.divided.add((one.id, name_of(other)))
    tensors = one.graph or other.graph or _is_leaf(one) or _is_leaf(other)
    identity = ex.fresh(node, made_of=(one.id, other.id) if tensors else ())
    if tensors:
        return _tensor_operation(ex, node, operator, one, other, identity, number)
    sequences = (ObjectKind.CONTAINER, ObjectKind.PARAMETERS)
    if isinstance(operator, ast.Add) and any(part.kind in sequences for part in one.objects | other.objects):
        return containers.concatenated(ex, [one, other], node)
    if isinstance(operator, ast.Mult) and any(part.kind in sequences for part in one.objects):
        return containers.repeated(ex, one._replace(id=identity, length=None), node)
    if LOSS_SCALE in one.divisors | other.divisors:
        return Value(identity, divisors=frozenset({LOSS_SCALE}))
    if not isinstance(operator, ast.Mod) and number is None and not one.objects and not other.objects:
        names = (name_of(one), name_of(other))
        bases = tuple(
            part.base if isinstance(part, Linear) else part
            for part in names
            if isinstance(part, int) or (isinstance(part, Linear) and part.base is not None)
        )
        made_of = tuple(base for base in bases if base is not None)
        combined = ex.identities.of("combined", type(operator).__name__, *names, made_of=made_of)
        if isinstance(operator, ast.Mult):
            ex.products[combined] = (linear(one), linear(other))
        return Value(combined, cut_from=one.cut_from | other.cut_from)
    return Value(identity, number=number, exact=one.exact and other.exact, cut_from=one.cut_from | other.cut_from)


def _number(operator: ast.operator, one: Value, other: Value) -> Linear | Remainder | None:
    mine, theirs = linear(one), linear(other)
    if isinstance(operator, ast.Add):
        if theirs.base is None:
            return Linear(mine.base, mine.offset + theirs.offset)
        return Linear(theirs.base, theirs.offset + mine.offset) if mine.base is None else None
    if isinstance(operator, ast.Sub) and theirs.base is None:
        return Linear(mine.base, mine.offset - theirs.offset)
    if isinstance(operator, ast.Mod) and mine.base is not None:
        return Remainder(mine.base, mine.offset, theirs)
    return None


def _is_leaf(value: Value) -> bool:
    return any(one.kind in (ObjectKind.LEAF, ObjectKind.PARAMETER, ObjectKind.GRADIENT) for one in value.objects)


def _tensor_operation(
    ex: Execution,
    node: ast.AST,
    operator: ast.operator,
    one: Value,
    other: Value,
    identity: int,
    number: Linear | Remainder | None,
) -> Value:
    for part in (one, other):
        unfilled.use(ex, part, node)
    value = graphs.tensor(ex, [one, other], identity)
    passing.enter(ex, (one, other), node)
    from_outside = any(part.kind is ObjectKind.EXTERNAL for part in one.objects | other.objects)
    if from_outside and not one.reduction and not other.reduction:
        through = value.through | passing.begin(ex, identity)
        graph, made_of = max(value.graph, Graph.ANY), value.made_of | {ex.heap.anything}
        value = value._replace(graph=graph, made_of=made_of, through=through)
    if isinstance(operator, (ast.Div, ast.FloorDiv, ast.Mult)):
        loss, factor = factors.product(operator, one, other)
        times = isinstance(operator, ast.Mult)
        scale = LOSS_SCALE in factor.divisors
        scaled = value.scaled or (scale and times)
        idle = loss.idle if factor.graph < Graph.LIVE else NO_IDLE_TERMS
        reduction, divisors = factors.divide(ex, loss, factor, times=times)
        if factor.constant is not None and not factor.constant.value:
            value = value._replace(cut_from=NO_OBJECTS)
        return value._replace(
            reduction=reduction,
            divisors=divisors,
            scaled=scaled,
            number=number,
            idle=idle,
        )
    if isinstance(operator, (ast.Add, ast.Sub)):
        reductions = {part.reduction for part in (one, other) if part.graph is Graph.LIVE}
        idle = one.idle | other.idle | graphs.idle_terms(ex, node, one, other)
        total = value._replace(reduction=reductions.pop() if len(reductions) == 1 else "", number=number, idle=idle)
        return keeping.add(ex, node, (one, other), total)
    return value._replace(number=number)


# --- structures


def _sequence(ex: Execution, node: ast.List | ast.Tuple | ast.Set) -> Value:
    parts = [evaluate(ex, part) for part in node.elts]
    starred = [isinstance(part, ast.Starred) for part in node.elts]
    for index, where in enumerate(node.elts):
        if starred[index]:
            iterators.read(ex, parts[index], where, by="the list")
            parts[index] = parts[index]._replace(iterators=NO_ITERATORS)
    pairs = zip(parts, starred, node.elts, strict=True)
    values = [containers.element(ex, part, where) if spread else part for part, spread, where in pairs]
    obj = containers.new(ex, node)
    containers.fill(ex, obj, values, exactly=not any(starred))
    if any(starred) and not isinstance(node, ast.Set):
        containers.join_parts(ex, obj, parts)
    return Value(ex.fresh(node), frozenset({obj}))


def _dict(ex: Execution, node: ast.Dict) -> Value:
    obj = containers.new(ex, node, shape=Shape.DICT)
    for key, part in zip(node.keys, node.values, strict=True):
        value = evaluate(ex, part)
        if key is None:
            containers.merge(ex, obj, value, node)
        else:
            containers.put_item(ex, obj, evaluate(ex, key), value)
    return Value(ex.fresh(node), frozenset({obj}))


Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_ELEMENT = "<element>"  # not a name that a program can write


def _written_as_for(ex: Execution, node: Comprehension) -> ast.For | None:
    """The for-loop that a comprehension is, whose elements do something to gradients."""
    if isinstance(node, ast.DictComp) or len(node.generators) > 1:
        return None
    known = ex.frame.file.comprehensions
    if node not in known:
        (generator,) = node.generators
        body: ast.stmt = ast.Assign([ast.Name(_ELEMENT, ast.Store())], node.elt)
        for test in reversed(generator.ifs):
            body = ast.If(test, [ast.copy_location(body, node)], [])
        loop = ast.For(generator.target, generator.iter, [ast.copy_location(body, node)], [])
        known[node] = ast.copy_location(loop, node)
    return known[node]


def _elements(ex: Execution, node: Comprehension) -> tuple[Value, Linear | None, list[Value]]:
    """One element that stands for all, how many there are, and what they are taken from."""
    length: Linear | None = None
    lazy, through = isinstance(node, ast.GeneratorExp), []
    for number, generator in enumerate(node.generators):
        iterated = evaluate(ex, generator.iter)
        through.append(iterated)
        ex.comprehending += 1
        if not lazy:
            iterators.read(ex, iterated, generator.iter, by="the comprehension")
        if number == 0 and len(node.generators) == 1 and not generator.ifs:
            length = containers.length_of(ex, iterated)
        statements.bind(ex, generator.target, containers.element(ex, iterated, generator.target), node)
        for test in generator.ifs:
            evaluate(ex, test)
    if isinstance(node, ast.DictComp):
        evaluate(ex, node.key)
        value = evaluate(ex, node.value)
    else:
        value = evaluate(ex, node.elt)
    ex.comprehending -= len(node.generators)
    return value, length, through


def _comprehension(ex: Execution, node: Comprehension) -> Value:
    record = ex.branch(node, "elements")
    trains = any(one is not None and one.kind is ObjectKind.OPTIMIZER for one, _ in ex.tables.emitted.get(record, ()))
    looped = _written_as_for(ex, node) if trains else None
    length: Linear | None = None
    through: list[Value] = []
    level = ex.store.open()
    ex.records.append(record)
    if looped is not None:
        statements.execute(ex, [looped])
        if ex.path is None:
            raise Unreachable
        value = ex.store.get((ex.frame.id, _ELEMENT)) or ex.unknown(node)
    else:
        value, length, through = _elements(ex, node)
    ex.records.remove(record)
    ex.store.commit(level)
    obj = containers.new(ex, node, shape=Shape.DICT if isinstance(node, ast.DictComp) else Shape.PLAIN)
    obj.many = True
    for one in value.objects:
        if one.born == tuple(ex.loops) and one.context == ex.context and not one.given:
            one.many = True
    containers.grow(ex, obj, value)
    made = Value(ex.fresh(node), frozenset({obj}), length=length)
    lazy = isinstance(node, ast.GeneratorExp) and looped is None
    return made._replace(iterators=iterators.new(ex, node, through[:1])) if lazy else made


def _subscript(ex: Execution, node: ast.Subscript) -> Value:
    base = evaluate(ex, node.value)
    unfilled.use(ex, base, node)
    if isinstance(node.slice, ast.Slice):
        some = any(one.kind is ObjectKind.PARAMETERS for one in base.objects)
        exact = base.exact and not some
        return base._replace(id=ex.fresh(node, "slice", made_of=(base.id,)), length=None, exact=exact)
    return containers.read(ex, base, evaluate(ex, node.slice), node)


def _slice(ex: Execution, node: ast.Slice) -> Value:
    return Value(ex.fresh(node))


def _attribute(ex: Execution, node: ast.Attribute) -> Value:
    return attributes.read(ex, evaluate(ex, node.value), node.attr, node)


_EXPRESSIONS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.NamedExpr: _walrus,
    ast.JoinedStr: _text,
    ast.Lambda: _lambda,
    ast.Await: _await,
    ast.Starred: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.IfExp: _choice,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Attribute: _attribute,
    ast.Call: lambda ex, node: calls.call_expression(ex, node),
}
