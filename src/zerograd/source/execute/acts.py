"""A row of the tables is carried out: one function for each act, none for a name."""

import ast
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.source.effects import frameworks, python, spelling, torch
from zerograd.source.effects.lookup import (
    container_method,
    inherited_method,
    module_method,
    optimizer_method,
    row_of,
    tensor_method,
    text_method,
    unbound_method,
)
from zerograd.source.effects.protocols import STEPS_OPTIMIZERS
from zerograd.source.effects.rows import Act, Row
from zerograd.source.execute import (
    attributes,
    calls,
    clipping,
    containers,
    expressions,
    factors,
    gradients,
    graphs,
    holding,
    iterators,
    keeping,
    lost_updates,
    passing,
    ranks,
    replacing,
    scaling,
    schedules,
    statements,
    unfilled,
    updates,
)
from zerograd.source.execute.execution import ONE, Execution, Unreachable
from zerograd.source.execute.tables import Branch, Leaves
from zerograd.source.heap.conditions import Asked, Linear
from zerograd.source.heap.objects import Mode, Obj, ObjectKind, Shape
from zerograd.source.heap.regions import is_result, reach
from zerograd.source.heap.values import (
    LOSS_SCALE,
    MEAN,
    NO_IDLE_TERMS,
    NO_ITERATORS,
    NO_OBJECTS,
    SUM,
    Coat,
    Graph,
    Literal,
    Multiplied,
    Times,
    Value,
    is_none,
    join,
    linear,
    name_of,
    plain,
)


class Call(NamedTuple):
    """A call that is being carried out. The receiver of a method stands first among `given`."""

    row: Row
    receiver: Value | None
    obj: Obj | None  # the one object of the receiver that is meant
    positional: Sequence[Value]
    keywords: dict[str, Value]
    node: ast.AST
    weak: bool = False

    @property
    def first(self) -> Value | None:
        """The first argument, by place or by its keyword."""
        if self.positional:
            return self.positional[0]
        return self.keywords.get(self.row.keyword) if self.row.keyword else None

    @property
    def subject(self) -> Value | None:
        """What the act is done to: the receiver of a method, else the first argument."""
        return self.receiver if self.receiver is not None else self.first

    @property
    def all(self) -> list[Value]:
        return [*([self.receiver] if self.receiver is not None else []), *self.positional, *self.keywords.values()]


_METHODS: dict[ObjectKind, dict[str, Row]] = {
    ObjectKind.MODULE: {**torch.MODULE, **frameworks.LIGHTNING},
    ObjectKind.OPTIMIZER: torch.OPTIMIZER,
    ObjectKind.SCALER: torch.SCALER,
    ObjectKind.SCHEDULER: torch.SCHEDULER,
    ObjectKind.CRITERION: torch.CRITERION,
    ObjectKind.ACCELERATOR: frameworks.ACCELERATOR,
    ObjectKind.ENGINE: {**torch.MODULE, **frameworks.ENGINE},
    ObjectKind.GRADIENT: torch.GRADIENT,
    ObjectKind.PARAMETER: torch.PARAMETER,
    ObjectKind.LEAF: torch.PARAMETER,
    ObjectKind.CONTAINER: python.CONTAINER,
    ObjectKind.PARAMETERS: python.CONTAINER,
}


_WRITES_TO = frozenset({spelling.OUT, calls.REST})
_TELLS_NUMBERS = (Act.NUMBER, Act.ASKS, Act.CUTS)


def is_method(name: str) -> bool:
    """Whether something of torch's, of Python's or of a framework has a method of this name."""
    return any(name in methods for methods in (*_METHODS.values(), torch.TENSOR))


def call_external(
    ex: Execution, name: str, positional: Sequence[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    """A function or a class from outside, by its qualified name."""
    row = row_of(name)
    if row is None:
        return _unknown_external(ex, name, positional, keywords, node)
    if row.act is Act.THING:
        return expressions.external(ex, name)
    if node is ex.dropped and positional:
        told = bool(_WRITES_TO & keywords.keys())
        lost_updates.dropped(ex, positional[0], name.removeprefix("torch."), node, is_told=told)
    method = unbound_method(name)
    if method and positional:  # torch.Tensor.detach(x)
        return calls.call_method(ex, positional[0], method, positional[1:], keywords, node)
    return _carry_out(ex, Call(row, None, None, positional, keywords, node))


def _unknown_external(
    ex: Execution, name: str, positional: Sequence[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    """What no table knows."""
    if spelling.is_class(name):
        return construct(ex, positional, keywords, node)
    external = ex.heap.of("external", name, kind=ObjectKind.EXTERNAL)
    external.name = name
    return gradients.unknown_call(ex, external, positional, keywords, node)


def construct(ex: Execution, positional: Sequence[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
    """A class from outside makes something whose kind its uses will tell; it remembers what it was given."""
    made = ex.given("result", node, ex.context)
    (obj,) = made.objects
    obj.born, obj.constructed = tuple(ex.loops), True
    gradients.remember(ex, obj, keywords, node)
    ex.begin_anew(reach(obj))
    handed = (*positional, *keywords.values())
    obj.alone = not gradients.is_of_program(ex, handed, results=True)
    gradients.show(ex, handed)
    for value in handed:
        for held in containers.deep(ex, value):
            obj.optimizers |= {one for one in held.objects if one.kind is ObjectKind.OPTIMIZER}
    regions: frozenset[Obj] = NO_OBJECTS
    for value in handed:
        regions |= gradients.regions_of(ex, value)
    obj.held = frozenset(one for one in regions if one.kind is not ObjectKind.GIVEN) or obj.held
    obj.regions = regions
    for value in handed:
        iterators.read(ex, value, node, by=gradients.wording(node), surely=obj.kind is ObjectKind.OPTIMIZER)
    if obj.kind is ObjectKind.OPTIMIZER:
        gradients.renew(ex, obj)
        replacing.renewed(ex, obj, node)
    return Value(ex.fresh(node), made.objects, True)


def call_tensor(
    ex: Execution, receiver: Value, name: str, positional: Sequence[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    """A method of a tensor, or of something nobody knows."""
    row = tensor_method(name)
    if row is None:
        if container_method(name) is not None and not receiver.graph:
            return ex.unknown(node)
        if not receiver.graph and not receiver.objects and not receiver.exact:
            _of_nobody_knows_what(ex, name)
        row = Row(Act.COMPUTES)
    unfilled.use(ex, receiver, node)
    if node is ex.dropped:
        lost_updates.dropped(ex, receiver, name, node, is_told=bool(_WRITES_TO & keywords.keys()))
    in_place = torch.is_in_place(name)
    if in_place and any(value.graph >= Graph.LIVE or value.slopes for value in positional):
        graphs.overwrite(ex, receiver, positional, node)
    made = _carry_out(ex, Call(row, receiver, None, positional, keywords, node))
    if not receiver.graph and all(one.kind is ObjectKind.NONE for one in receiver.objects):
        made = made._replace(exact=False)  # nobody knows whether it is a tensor at all
    if not in_place or made.objects or row.act not in (Act.COMPUTES, Act.MULTIPLIES):
        return made
    changed = ex.identities.of("changed", made.id, made_of=(receiver.id,))  # it hands back what it has changed
    graphs.mark(ex, changed, [made])
    return made._replace(id=changed)


def _of_nobody_knows_what(ex: Execution, name: str) -> None:
    """A method of something of which nothing is known: it may be an optimizer, or the network."""
    row = optimizer_method(name)
    if row is not None and row.act in (Act.CLEARS, Act.STEPS):
        kind = Kind.CLEAR if row.act is Act.CLEARS else Kind.CONSUME
        gradients.doubt_optimizers(ex, gradients.optimizers(ex), frozenset({kind}))


def call_known(
    ex: Execution,
    obj: Obj,
    receiver: Value,
    name: str,
    positional: Sequence[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    *,
    weak: bool,
) -> Value:
    """A method of an object whose kind the tables know, or of one that was given."""
    if obj.kind is ObjectKind.GRADIENT:
        unfilled.use(ex, receiver, node)
    given = bool(positional) or any(value.graph or value.objects for value in keywords.values())
    obj.uses.add(f"{name}(x)" if given else f"{name}()")
    if name in (python.CALL, python.FORWARD) and obj.kind in (ObjectKind.MODULE, ObjectKind.CRITERION):
        return calls.call_module(ex, obj, positional, keywords, node)
    if obj.kind is ObjectKind.GIVEN:
        return _call_given(ex, obj, receiver, name, positional, keywords, node)
    row = _METHODS.get(obj.kind, {}).get(name)
    if row is not None:
        return _carry_out(ex, Call(row, receiver, obj, positional, keywords, node, weak))
    if obj.kind in (ObjectKind.LEAF, ObjectKind.PARAMETER):
        if torch.is_in_place(name):
            target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            updates.update(ex, receiver, [*positional, *keywords.values()], node, target)
            return receiver
        return call_tensor(ex, receiver, name, positional, keywords, node)
    if obj.kind is ObjectKind.GRADIENT:
        gradients.read_by_hand(ex, obj.regions)
        return call_tensor(ex, receiver, name, positional, keywords, node)
    if obj.kind is ObjectKind.MODULE:
        if torch.is_in_place(name) and containers.is_part(obj):
            updates.note_written(ex, obj, node)
        tensor = tensor_method(name)
        if tensor is not None and tensor.act in _TELLS_NUMBERS and containers.is_part(obj):
            return _carry_out(ex, Call(tensor, receiver, None, positional, keywords, node))  # a parameter, not a module
        return _unknown_method_of_module(ex, obj, name, positional, keywords, node)
    if name and obj.kind is ObjectKind.INSTANCE and obj.cls is not None and not ex.classes.of(obj.cls).outside:
        field = attributes.read(ex, receiver, name, node)  # no method of its class: somebody has put it there
        if any(one.kind is ObjectKind.BOUND and one.name == name for one in field.objects):  # it may be this very one
            return gradients.unknown_call(ex, None, positional, keywords, node, receiver=receiver)
        return calls.call(ex, field, positional, keywords, node)
    if obj.kind is ObjectKind.INSTANCE and obj.cls is not None:
        rows = [inherited_method(base, name) for base in ex.classes.of(obj.cls).outside]
        for inherited in rows:
            if inherited is not None:
                return _carry_out(ex, Call(inherited, None, None, positional, keywords, node))
    if obj.kind in (ObjectKind.INSTANCE, ObjectKind.FUNCTION):
        return gradients.unknown_call(ex, None, positional, keywords, node, receiver=receiver)
    if obj.kind is ObjectKind.REPLAY:
        gradients.doubt_all(ex)
        return ex.none
    if obj.kind is ObjectKind.LOADER:
        return Value(ex.fresh(node), exact=False)
    if obj.kind is ObjectKind.CLASS and obj.cls is not None and ex.classes.of(obj.cls).outside:
        return construct(ex, positional, keywords, node)  # inherited from a class that cannot be read
    if obj.kind is ObjectKind.OPTIMIZER and node is ex.dropped:
        gradients.doubt_optimizers(ex, [obj])  # it does what no optimizer of torch's does
    return ex.unknown(node)


def _unknown_method_of_module(
    ex: Execution, obj: Obj, name: str, positional: Sequence[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    """A method that is not in sight: it may run the network."""
    values = [held for value in (*positional, *keywords.values()) for held in containers.deep(ex, value)]
    given = [one for value in values for one in value.objects if one.kind is ObjectKind.OPTIMIZER]
    if given:
        gradients.doubt_optimizers(ex, given)
    if not containers.is_part(obj) or tensor_method(name) is None:  # a tensor keeps nothing of what it is handed
        gradients.show(ex, (*positional, *keywords.values()))
        if gradients.is_of_program(ex, values):
            gradients.holds_more([obj])
    mine = frozenset({obj})
    if node is ex.dropped and obj.given:  # called for what it does, by a class that is not in sight
        gradients.doubt_regions(ex, mine, frozenset({Kind.CLEAR, Kind.DEPOSIT, Kind.CLIP}))
    made = graphs.tensor(ex, values, ex.fresh(node), live=True, made_of=mine, sure=mine)
    if not any(value.objects or value.graph is not Graph.NONE for value in values):  # handed numbers, it may tell one
        made = made._replace(graph=Graph.ANY, sure=NO_OBJECTS)
    result = ex.given("result", node, ex.context)
    is_thing = any(one.kind is not ObjectKind.GIVEN for one in result.objects)  # its uses have told: an optimizer
    return made._replace(exact=False, objects=result.objects if obj.cls is not None or is_thing else NO_OBJECTS)


def _call_given(
    ex: Execution,
    obj: Obj,
    receiver: Value,
    name: str,
    positional: Sequence[Value],
    keywords: dict[str, Value],
    node: ast.AST,
) -> Value:
    """A method of something from outside whose kind is not known yet: what every kind would do, and else nothing."""
    if node is ex.dropped and ex.loops:
        ex.tables.add(ex.tables.volatile, obj)
    tensor, module, container = tensor_method(name), module_method(name), container_method(name)
    optimizer = optimizer_method(name)
    text = text_method(name)
    if text is not None:
        return _carry_out(ex, Call(text, receiver, None, positional, keywords, node))
    if tensor is not None and tensor.act is Act.DEPOSITS:
        leaves = _left_behind(Call(tensor, receiver, None, positional, keywords, node))
        loss = positional[0] if positional else keywords.get(spelling.LOSS)
        live = loss is not None and (loss.graph >= Graph.LIVE or any(one.given for one in loss.objects))
        if loss is not None and live and receiver.graph is not Graph.LIVE:
            gradients.deposit(ex, loss, node, leaves)  # engine.backward(loss)
        else:
            anything = frozenset({ex.heap.anything})
            unsure = receiver._replace(graph=Graph.ANY, made_of=anything, exact=False)
            gradients.deposit(ex, receiver if receiver.graph is not Graph.CUT else unsure, node, leaves)
        return ex.none
    if tensor is not None and (tensor.act is Act.SPLITS or (is_result(obj) and receiver.graph >= Graph.LIVE)):
        return _carry_out(ex, Call(tensor, receiver, None, positional, keywords, node))
    if module is not None and module.act in (Act.PARAMETERS, Act.NAMED_PARAMETERS, Act.FORWARD_HOOK):
        return _carry_out(ex, Call(module, receiver, obj, positional, keywords, node))
    if any(row is not None and row.act is Act.SAME and not (row.alone and positional) for row in (module, tensor)):
        return receiver
    if optimizer is not None and optimizer.act in (Act.STEPS, Act.CLEARS):
        handed_over = {one for value in positional for one in value.objects}
        if any(one.kind is ObjectKind.OPTIMIZER for one in handed_over):
            obj.uses.add(STEPS_OPTIMIZERS)
        if optimizer.act is Act.STEPS and handed_over:
            ex.tables.told_to_step.setdefault(obj, set()).update(handed_over)
        if optimizer.act is Act.CLEARS and not ex.exploring:  # it may be the network
            gradients.doubt_optimizers(ex, gradients.optimizers(ex), frozenset({Kind.CLEAR}))
        return ex.unknown(node)
    if container is not None and container.act in (Act.ITEMS, Act.VALUES):
        return _carry_out(ex, Call(container, receiver, obj, positional, keywords, node))
    if container is not None and container.act is Act.GETS and positional and positional[0].constant is not None:
        return containers.read(ex, receiver, positional[0], node)
    if container is not None and container.act in (Act.APPENDS, Act.EXTENDS):
        gradients.show(ex, positional)
        return ex.none
    handed = any(value.graph >= Graph.LIVE for value in positional)
    if tensor is not None and tensor.act is Act.COMPUTES:  # another shape of it
        return _carry_out(ex, Call(tensor, receiver, None, [], {}, node))._replace(exact=False)
    if tensor is not None and not handed and tensor.act in (Act.CUTS, Act.NUMBER, Act.ASKS, Act.CUTS_ITSELF):
        return _carry_out(ex, Call(tensor, receiver, None, positional, keywords, node))
    if receiver.graph is Graph.LIVE:
        return call_tensor(ex, receiver, name, positional, keywords, node)
    computed = receiver if is_result(obj) else None  # a distribution, an output: whose graph is its own
    made = gradients.unknown_call(ex, obj, positional, keywords, node, receiver=computed)
    if containers.is_item(obj):  # one of several losses, perhaps: what they have in common, nobody sees
        ex.may_begin.add(made.id)
    return made


def call_scaler(
    ex: Execution, obj: Obj, positional: Sequence[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    """timm's scaler: scale, backward, unscale, clip, step and update in one call."""
    if obj.shape is not Shape.CALLABLE or not positional:
        return gradients.unknown_call(ex, None, positional, keywords, node)
    gradients.deposit(ex, positional[0]._replace(scaled=True), node)
    update = keywords.get(spelling.NEED_UPDATE)
    if update is not None and update.constant is None:
        gradients.doubt_optimizers(ex, [one for value in positional[1:] for one in value.objects])
        return ex.none
    for value in positional[1:2]:
        for one in gradients.stepped_by_scaler(value):
            scaling.unscale(ex, [one], node)
            gradients.consume(ex, one, node, scaled=True)
    return ex.none


def _carry_out(ex: Execution, call: Call) -> Value:
    return _ACTS.get(call.row.act, _nothing)(ex, call)


# --- makes an object


def _made(ex: Execution, call: Call, kind: ObjectKind) -> Obj:
    obj = ex.heap.of("made", kind.name, call.node, ex.context, kind=kind)
    obj.born, obj.context = tuple(ex.loops), ex.context
    if kind is ObjectKind.MODULE:
        ex.begin_anew(reach(obj))
    return obj


def _value(ex: Execution, call: Call, obj: Obj) -> Value:
    return Value(ex.fresh(call.node), frozenset({obj}))


def _module(ex: Execution, call: Call) -> Value:
    obj = _made(ex, call, ObjectKind.MODULE)
    obj.learns, obj.site = call.row.learns, ex.site(call.node)
    if ex.forwards:
        me = ex.frame.receiver
        ex.made_in_forward[obj] = me.objects if me is not None and not ex.frame.seeded else NO_OBJECTS
    index = 0
    for value in call.all:
        for held in containers.deep(ex, value):
            for one in held.objects:
                if one.kind is ObjectKind.MODULE and one is not obj:
                    obj.children.add(one)
                elif one.kind in (ObjectKind.LEAF, ObjectKind.PARAMETER):
                    obj.children |= gradients.own_regions(one) - {obj}
                elif one.kind is ObjectKind.GIVEN:
                    obj.taken.add(one)
        known = containers.places(ex, value)
        for part in known if known is not None else [value]:
            if any(one.kind is ObjectKind.MODULE for one in part.objects):
                ex.store.put((obj, containers.at(index)), part)
            index += 1
    return _value(ex, call, obj)


def _plain_module(ex: Execution, call: Call) -> Value:
    obj = _made(ex, call, ObjectKind.MODULE)
    obj.off = True  # it has no parameters
    return _value(ex, call, obj)


def _reduction(call: Call) -> str:
    """How a loss is reduced: as it is told, else the mean."""
    told = call.keywords.get(spelling.REDUCTION)
    if any(name in call.keywords for name in spelling.OLD_REDUCTIONS):
        return ""
    if told is None:
        return call.row.reduction
    known = told.constant.value if told.constant is not None else ""
    return known if isinstance(known, str) else ""


def _criterion(ex: Execution, call: Call) -> Value:
    obj = _made(ex, call, ObjectKind.CRITERION)
    obj.reduction = _reduction(call)
    return _value(ex, call, obj)


def _optimizer(ex: Execution, call: Call) -> Value:
    obj = _made(ex, call, ObjectKind.OPTIMIZER)
    parameters = call.positional[0] if call.positional else call.keywords.get(spelling.PARAMS)
    obj.held = gradients.regions_of(ex, parameters, unknown=True) if parameters is not None else NO_OBJECTS
    obj.shape = Shape.REPEATS if call.row.repeats else Shape.PLAIN
    if parameters is not None:
        _note_plain(ex, obj, parameters, call.node)
        _read_all(ex, call, parameters, obj.held)
    gradients.renew(ex, obj)
    replacing.renewed(ex, obj, call.node)
    holding.made(ex, obj, parameters, call.node)
    return _value(ex, call, obj)


def _read_all(ex: Execution, call: Call, value: Value, regions: frozenset[Obj]) -> None:
    """Parameters are read to the end, and so are the iterators in a list of them."""
    for one in iterators.listed(ex, value):
        iterators.read(ex, one, call.node, by=gradients.wording(call.node), regions=regions)


def _note_plain(ex: Execution, optimizer: Obj, given: Value, node: ast.AST) -> None:
    """Tensors among the parameters of an optimizer that take no gradient, where they are listed."""
    for obj in given.objects:
        if obj.kind is ObjectKind.CONTAINER:
            listed = next((one for one in obj.key if isinstance(one, ast.expr)), node)
            group = ex.store.get((obj, containers.at(spelling.PARAMS)))
            fields = (
                [group]
                if group is not None
                else [value for (_, place), value in ex.store.fields(obj) if isinstance(place, tuple)]
            )
            for value in fields:
                _note_plain(ex, optimizer, value, listed)
    if given.graph is Graph.CUT and given.exact and not given.objects and not ex.loops:
        ex.ungraded.setdefault(given.id, (ex.site(node), optimizer))


def _scaler(ex: Execution, call: Call) -> Value:
    obj = _made(ex, call, ObjectKind.SCALER)
    enabled = call.keywords.get(spelling.ENABLED)
    obj.off = enabled is not None and enabled.constant is not None and not enabled.constant.value
    obj.shape = Shape.CALLABLE if call.row.act is Act.CALLABLE_SCALER else Shape.PLAIN
    others = dict(call.keywords)
    others.pop(spelling.ENABLED, None)
    begins = others.pop(spelling.INIT_SCALE, None)
    scaling.made(ex, obj, call.node, anew=not others and (begins is None or begins.constant is not None))
    return _value(ex, call, obj)


def _scheduler(ex: Execution, call: Call) -> Value:
    obj = _made(ex, call, ObjectKind.SCHEDULER)
    obj.optimizers = {
        one
        for value in (*call.positional, *call.keywords.values())
        for held in containers.deep(ex, value)
        for one in held.objects
        if one.kind is ObjectKind.OPTIMIZER
    }
    first = call.keywords.get(spelling.OPTIMIZER_KEYWORD) or call.first
    if first is not None and not obj.optimizers:
        gradients.stepped_by_scaler(first)
    obj.off = call.row.act is Act.PLATEAU
    return _value(ex, call, obj)


def leaf(ex: Execution, node: ast.AST) -> Value:
    """A new tensor that takes a gradient."""
    obj = ex.heap.of("leaf", node, ex.context, kind=ObjectKind.LEAF)
    ex.begin_anew({obj})
    return graphs.leaf_value(ex.fresh(node), obj)


def _parameter(ex: Execution, call: Call) -> Value:
    needs = call.keywords.get(spelling.REQUIRES_GRAD)
    if needs is not None and needs.constant is not None and not needs.constant.value:
        return Value(ex.fresh(call.node), graph=Graph.CUT)
    return leaf(ex, call.node)


def _loader(ex: Execution, call: Call) -> Value:
    return _value(ex, call, _made(ex, call, ObjectKind.LOADER))


def _accelerator(ex: Execution, call: Call) -> Value:
    obj = _made(ex, call, ObjectKind.ACCELERATOR)
    others = dict(call.keywords)
    precision = others.pop(spelling.MIXED_PRECISION, None)
    plain = not any(
        value.objects - {ex.heap.none} for value in others.values()
    )  # a plugin may take the scale upon itself
    ex.tables.plugins = ex.tables.plugins or not plain
    obj.shape = (
        Shape.HALF if precision is not None and plain and spelling.is_half(ex.setting(precision)) else Shape.PLAIN
    )
    gradients.remember(ex, obj, call.keywords, call.node)
    told = call.keywords.get(call.row.divides)
    if told is not None:
        obj.divisor = name_of(told)
    elif not plain or calls.REST in call.keywords:
        obj.divisor = obj  # a plugin or settings may tell
    return _value(ex, call, obj)


def _makes(ex: Execution, call: Call) -> Value:
    return construct(ex, call.positional, call.keywords, call.node)


def _wrapper(ex: Execution, call: Call) -> Value:
    first = call.first
    if first is None and call.keywords:
        first = next(iter(call.keywords.values()))
    return first if first is not None else ex.unknown(call.node)


def _replicates(ex: Execution, call: Call) -> Value:
    return ranks.wrapped(ex, _wrapper(ex, call))


def _replay(ex: Execution, call: Call) -> Value:
    return _value(ex, call, _made(ex, call, ObjectKind.REPLAY))


# --- computes a value


def _held(ex: Execution, call: Call) -> list[Value]:
    return [held for value in call.all for held in containers.deep(ex, value)]


def _computes(ex: Execution, call: Call) -> Value:
    needs = call.keywords.get(spelling.REQUIRES_GRAD)
    if needs is not None and needs.constant is not None and needs.constant.value is True:
        return leaf(ex, call.node)
    held = _held(ex, call)
    made = graphs.tensor(ex, held, ex.fresh(call.node, made_of=_graphs_of(held)))
    told = {value.reduction for value in call.all if value.graph}
    subject = call.subject
    reduction = told.pop() if len(told) == 1 else ""
    made = made._replace(reduction=reduction, exact=subject is None or subject.exact)
    return keeping.add(ex, call.node, _side_by_side(ex, call), made) if call.row.joins else made


def _side_by_side(ex: Execution, call: Call) -> list[Value]:
    """The tensors that are put together, one by one where they are listed."""
    found: list[Value] = []
    for value in call.positional[:1]:
        known = containers.places(ex, value)
        found += known if known is not None else [value]
    return [value for value in found if value.graph is not Graph.ANY or ex.heads.get(value.id)]


def _graphs_of(values: list[Value]) -> tuple[int, ...]:
    """What a tensor is computed from that has a graph, or may have."""
    return tuple(value.id for value in values if value.graph >= Graph.LIVE)[:4]


def _loss(ex: Execution, call: Call) -> Value:
    gradients.note_loss(ex)
    made = graphs.tensor(ex, _held(ex, call), ex.fresh(call.node))._replace(reduction=_reduction(call))
    ex.computed[ex.site(call.node)] = made
    return made


def _reduces(ex: Execution, call: Call) -> Value:
    idle = call.subject.idle if call.subject is not None else NO_IDLE_TERMS
    made = _computes(ex, call)
    if made.graph >= Graph.LIVE and made.made_of and ex.forwards == 0:
        gradients.note_loss(ex)
    output_of = call.subject.output_of if call.subject is not None else None
    return made._replace(reduction=MEAN if call.row.act is Act.MEAN else SUM, idle=idle, output_of=output_of)


def _splits(ex: Execution, call: Call) -> Value:
    """chunk(), split(): of data, the parts of a batch; of what has a graph, tensors that have it too."""
    subject = call.subject
    given = list(call.positional if call.receiver is not None else call.positional[1:])
    dimension = call.keywords.get(spelling.DIMENSION) or (given[1] if len(given) > 1 else ex.constant(0))
    first = dimension.constant is not None and dimension.constant.value == 0
    if subject is None or subject.graph is Graph.LIVE or not first:
        return _computes(ex, call)
    obj = containers.new(ex, call.node, shape=Shape.PARTS)
    part = Value(ex.fresh(call.node, "part"), exact=False, graph=subject.graph or Graph.CUT, made_of=subject.made_of)
    part = part._replace(through=subject.through)
    ex.store.put((obj, containers.ELEMENT), part)
    number = call.keywords.get(call.row.keyword) or (given[0] if given and call.row.keyword else None)
    return Value(ex.fresh(call.node), frozenset({obj}), length=linear(number) if number is not None else None)


def _like(ex: Execution, call: Call) -> Value:
    """Another shape of the receiver: what it is given tells the shape alone."""
    assert call.receiver is not None
    return graphs.tensor(ex, [call.receiver], ex.fresh(call.node))


def _cuts(ex: Execution, call: Call) -> Value:
    made_of = (call.subject.id,) if call.subject is not None else ()
    identity = ex.fresh(call.node, made_of=made_of)
    values = _held(ex, call)
    graphs.mark(ex, identity, values)
    return Value(identity, graph=Graph.CUT, cut_from=graphs.origins(values), slopes=graphs.slopes(values))


def _cuts_itself(ex: Execution, call: Call) -> Value:
    """detach_(): whatever name it has, its graph is gone."""
    made, node = _cuts(ex, call), call.node
    target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if isinstance(target, (ast.Name, ast.Attribute)) and call.receiver is not None and not call.receiver.objects:
        statements.bind(ex, target, made, node)
    return made


def _number(ex: Execution, call: Call) -> Value:
    first = call.positional[0] if call.positional else None
    if call.receiver is None and first is not None and first.constant is not None:
        told = first.constant.value
        if isinstance(told, str) and isinstance(call.node, ast.Call) and len(call.positional) == 1:
            try:
                return ex.constant(float(told))
            except ValueError:
                pass
    identity = ex.fresh(call.node, made_of=(call.receiver.id,) if call.receiver is not None else ())
    values = _held(ex, call)
    graphs.mark(ex, identity, values)
    return Value(identity, exact=call.receiver is not None, cut_from=graphs.origins(values))


def _new_tensor(ex: Execution, call: Call) -> Value:
    needs = call.keywords.get(spelling.REQUIRES_GRAD)
    if needs is not None and needs.constant is not None and needs.constant.value is True:
        made = leaf(ex, call.node)
        if call.keywords.get(spelling.DEVICE) is None and not ex.elsewhere and not ex.unread_blocks:
            ex.near |= made.objects
        return made
    return Value(ex.fresh(call.node), graph=Graph.CUT, exact=needs is None)


def _copies(ex: Execution, call: Call) -> Value:
    needs = call.keywords.get(spelling.REQUIRES_GRAD)
    if needs is not None and needs.constant is not None and needs.constant.value is True:
        return _copied_leaf(ex, call)
    first = call.first
    wraps = call.row.act is Act.WRAPS and first is not None and first.graph >= Graph.LIVE
    if wraps and first is not None and not any(one.kind is ObjectKind.CONTAINER for one in first.objects):
        return first._replace(id=ex.fresh(call.node))
    return _cuts(ex, call)


def _copied_leaf(ex: Execution, call: Call) -> Value:
    """A leaf that is a copy of something: it takes a gradient, and hands none on."""
    made, first = leaf(ex, call.node), call.first
    origins = graphs.origins(_held(ex, call))
    for one in made.objects:
        one.site, one.copied_from = ex.site(call.node), one.copied_from | origins
        one.many = first is not None and any(held.kind is ObjectKind.CONTAINER for held in first.objects)
    return made._replace(cut_from=origins)


def _same(ex: Execution, call: Call) -> Value:
    subject = call.subject
    return subject if subject is not None else ex.unknown(call.node)


def _casts(ex: Execution, call: Call) -> Value:
    """to(...): into whole numbers goes no gradient."""
    kinds = {one.name for value in call.all[1:] for one in value.objects if one.kind is ObjectKind.EXTERNAL}
    if kinds & torch.WHOLE_NUMBERS:
        return _cuts(ex, call)
    same = _same(ex, call)
    if any(one.kind is ObjectKind.GRADIENT for one in same.objects):
        return same._replace(id=ex.fresh(call.node, made_of=(same.id,)))  # a copy, perhaps
    device = call.all[1].constant if len(call.all) == 2 else None
    return _moves(ex, call) if device is not None and spelling.is_far(device.value) else same


def _moves(ex: Execution, call: Call) -> Value:
    """To a device that it is not on: of a tensor that an optimizer holds, a copy that it does not hold."""
    same = _same(ex, call)
    held = {slot[1] for slot in ex.tables.slots}
    for leaf in same.objects if len(same.objects) == 1 and ex.path is not None else ():
        if leaf in held and leaf in ex.near:
            moved = graphs.tensor(ex, [same], ex.fresh(call.node))
            ex.moved[moved.id] = leaf
            return moved
    return same


def _asks(ex: Execution, call: Call) -> Value:
    subject = call.subject
    if subject is None:
        return ex.unknown(call.node)
    names = tuple(name_of(value) for value in call.positional)
    return Value(ex.identities.of("asked", call.row.asks, *names, made_of=(subject.id,)))


def _divides(ex: Execution, call: Call) -> Value:
    made = _computes(ex, call)
    factor = call.positional[-1] if call.positional else None
    subject = call.subject
    if factor is None or subject is None:
        return made
    scaled = made.scaled or (call.row.act is Act.MULTIPLIES and LOSS_SCALE in factor.divisors)
    times = call.row.act is Act.MULTIPLIES
    reduction, divisors = factors.divide(ex, subject, factor, times=times)
    return made._replace(reduction=reduction, divisors=divisors, scaled=scaled)


def _leaf(ex: Execution, call: Call) -> Value:
    subject, node = call.receiver, call.node
    if subject is None:
        return ex.unknown(node)
    target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return ask_gradient(ex, subject, target, node)


def ask_gradient(ex: Execution, subject: Value, target: ast.expr | None, node: ast.AST) -> Value:
    """A tensor is told to take a gradient: without a graph it becomes a leaf, under the name that it has."""
    ex.tables.asked_for_gradient.add(subject.id)
    ex.tables.keep_gradient.add(subject.id)
    if not subject.exact or not graphs.may_be_leaf(subject):
        return subject
    made = graphs.as_leaf(ex, subject)
    if isinstance(target, (ast.Name, ast.Attribute)):
        statements.bind(ex, target, made, node)
    return made


def _autograd(ex: Execution, call: Call) -> Value:
    made, held = _cuts(ex, call), _held(ex, call)
    keeping.use(ex, held)
    outputs = containers.deep(ex, call.first) if call.first is not None else held
    passing.go(ex, outputs, call.node, _kept_by_autograd(call), gradients.wording(call.node))
    for leaf_of in {one for value in held for one in value.objects if one.kind is ObjectKind.LEAF}:
        ex.tables.add(ex.tables.graded, leaf_of)
    graph = call.keywords.get(spelling.CREATE_GRAPH) or (call.positional[4] if len(call.positional) > 4 else None)
    if calls.REST in call.keywords:
        graph = call.keywords[calls.REST]
    if graph is not None and not (graph.constant is not None and not graph.constant.value):
        made = graphs.tensor(ex, _held(ex, call), made.id)
    return made._replace(exact=False)


def _kept_by_autograd(call: Call) -> Leaves:
    """What autograd.grad() is told to keep."""
    recorded = _is_told(call, spelling.CREATE_GRAPH, 4)
    retained = _is_told(call, spelling.RETAIN_GRAPH, 3)
    return Leaves(retained if recorded is False else None, recorded)


def _checkpoint(ex: Execution, call: Call) -> Value:
    first = call.first
    if first is None:
        return ex.unknown(call.node)
    return calls.call(ex, first, call.positional[1:], call.keywords, call.node)


def _functional(ex: Execution, call: Call) -> Value:
    """Whether the module's own parameters are among those that it is given, nobody can tell here."""
    made = graphs.tensor(ex, _held(ex, call), ex.fresh(call.node))
    if made.graph is Graph.LIVE or ex.grad_mode is Mode.OFF:
        return made
    return made._replace(graph=Graph.ANY, made_of=made.made_of | {ex.heap.anything}, exact=False)


def _reads(ex: Execution, call: Call) -> Value:
    """The rate or the state is read: whoever gets it may use it elsewhere."""
    for value in call.all:
        for one in value.objects:
            for optimizer in one.optimizers if one.kind is ObjectKind.SCHEDULER else {one}:
                ex.tables.add(ex.tables.read, optimizer)
    return _nothing(ex, call)


def _locals(ex: Execution, call: Call) -> Value:
    obj = containers.new(ex, call.node, shape=Shape.DICT)
    for (_, name), value in ex.store.fields(ex.frame.id):
        containers.put_item(ex, obj, ex.constant(name), value)
    return _value(ex, call, obj)


def _opaque(ex: Execution, call: Call) -> Value:
    gradients.doubt_all(ex)
    return _nothing(ex, call)


def _sets_device(ex: Execution, call: Call) -> Value:
    ex.elsewhere = True
    ex.noted += 1
    return _nothing(ex, call)


def _seeds(ex: Execution, call: Call) -> Value:
    """What is drawn from here on in this function is the same each time."""
    ex.frame.seeded = True
    return _nothing(ex, call)


def _unpickles(ex: Execution, call: Call) -> Value:
    """What comes out of a file: it may be anything, but nothing that was there before."""
    made = ex.given("result", call.node, ex.context)
    (obj,) = made.objects
    obj.brought = True
    return Value(ex.fresh(call.node), made.objects, exact=False)


def _nothing(ex: Execution, call: Call) -> Value:
    identity = ex.fresh(call.node)
    graphs.mark(ex, identity, call.all)
    return Value(identity, exact=False)


# --- changes the mode


def _context(ex: Execution, call: Call, mode: Mode) -> Value:
    obj = ex.heap.of("context", mode, call.node, ex.context, kind=ObjectKind.CONTEXT)
    obj.mode = mode
    return _value(ex, call, obj)


def _no_grad(ex: Execution, call: Call) -> Value:
    return _context(ex, call, Mode.OFF)


def _grad(ex: Execution, call: Call) -> Value:
    return _context(ex, call, Mode.ON)


def _grad_if(ex: Execution, call: Call) -> Value:
    told = call.first.constant if call.first is not None else None
    mode = Mode.MAYBE if told is None else Mode.ON if told.value else Mode.OFF
    if call.node is ex.dropped:  # called, not entered: it holds from here on
        ex.grad_mode = mode
    return _context(ex, call, mode)


def _plain_context(ex: Execution, call: Call) -> Value:
    return _context(ex, call, Mode.PLAIN)


def _fails(ex: Execution, call: Call) -> Value:
    return _context(ex, call, Mode.FAILS)


def _capture(ex: Execution, call: Call) -> Value:
    ex.captures = True
    return _context(ex, call, Mode.PLAIN)


def _copies_weights(ex: Execution, call: Call) -> Value:
    """higher.innerloop_ctx(model, optimizer): hands out a copy of the model, and who steps it in the graph."""
    made = _context(ex, call, Mode.PLAIN)
    (obj,) = made.objects
    told, first = call.keywords.get(spelling.COPY_WEIGHTS), call.first
    known = [one for one in first.objects if one.kind is ObjectKind.MODULE] if first is not None else []
    if first is None or not known or (told is not None and not (told.constant and told.constant.value)):
        gradients.show(ex, call.all)
        return made
    copied = ex.heap.of("copy", call.node, ex.context, kind=ObjectKind.MODULE)
    copied.copied_from = frozenset(known)
    pair = containers.new(ex, call.node, "handed out")
    containers.fill(ex, pair, [ex.thing(copied), ex.unknown(call.node, "stepped in the graph")])
    obj.receiver = ex.thing(pair)
    return made


def _quiets(ex: Execution, call: Call) -> Value:
    """no_sync(): of a module, or of an accelerator that is handed one."""
    made = _context(ex, call, Mode.QUIET)
    (obj,) = made.objects
    is_module = call.obj is not None and call.obj.kind is ObjectKind.MODULE
    subject = call.receiver if is_module else call.first
    obj.regions = subject.objects if subject is not None else NO_OBJECTS
    enabled = call.keywords.get(spelling.ENABLED)
    obj.told = expressions.truth(ex, enabled) if enabled is not None else None
    return made


def _reduces_by_hand(ex: Execution, call: Call) -> Value:
    ranks.reduced(ex)
    return _nothing(ex, call)


def _accumulates(ex: Execution, call: Call) -> Value:
    made = _context(ex, call, Mode.ACCUMULATES)
    (obj,) = made.objects
    obj.source = call.obj
    obj.regions = frozenset().union(*(gradients.regions_of(ex, value) for value in call.positional))
    return made


def _scale_loss(ex: Execution, call: Call) -> Value:
    made = _context(ex, call, Mode.SCALES_LOSS)
    (obj,) = made.objects
    loss = call.first
    if loss is not None:
        obj.receiver = loss._replace(id=ex.identities.of("scaled", made_of=(loss.id,)), scaled=True)
    obj.optimizers = {
        one
        for value in call.positional[1:]
        for held in containers.deep(ex, value)
        for one in held.objects
        if one.kind is ObjectKind.OPTIMIZER
    }
    delay = call.keywords.get(spelling.DELAY_UNSCALE)
    obj.off = delay is not None and not (delay.constant is not None and not delay.constant.value)
    return made


# --- does something to gradients


def _deposits(ex: Execution, call: Call) -> Value:
    receiver, obj = call.receiver, call.obj
    loss = call.first if receiver is None or obj is not None else receiver
    if obj is not None and obj.kind in (ObjectKind.LEAF, ObjectKind.PARAMETER):
        loss = receiver
    if receiver is not None and obj is None:
        first = call.first
        if first is not None and first.graph is Graph.LIVE and receiver.graph is not Graph.LIVE:
            loss = first
    if loss is None:
        return ex.none
    if obj is not None and obj.given and loss.graph is Graph.CUT:
        gradients.doubt_all(ex)  # a backward() of its own, of nobody knows what
        return ex.none
    if obj is not None and obj.kind is ObjectKind.ACCELERATOR and obj.shape is Shape.HALF:
        loss = loss._replace(scaled=True)
    again = _divided_again(ex, call, loss)
    loss = loss._replace(divisors=loss.divisors | _divided_on_the_way(ex, call, loss))
    told = call.keywords.get(spelling.INPUTS)
    ex.tables.keep_gradient |= {held.id for held in containers.deep(ex, told)} if told is not None else set()
    if receiver is None:
        for held in containers.deep(ex, loss):
            if held.graph:
                gradients.deposit(ex, held, call.node, _left_behind(call))
    else:
        gradients.deposit(ex, loss, call.node, _left_behind(call), by=obj, divided_again=again)
    return ex.none


def _divided_again(ex: Execution, call: Call, loss: Value) -> str:
    """What an accelerator divides by that has surely divided the loss, as the program names it."""
    told = told_size(ex, call.obj) if call.obj is not None and call.obj.kind is ObjectKind.ACCELERATOR else None
    if told is None or told.constant == ONE:
        return ""
    name: Hashable = Literal(told.id) if told.constant is not None else name_of(told)
    by_hand = name in loss.divisors and Multiplied(name_of(told)) not in map(plain, loss.divisors)
    return ex.tables.named.get(linear(told), "N") if by_hand else ""


def told_size(ex: Execution, accelerator: Obj) -> Value | None:
    """The number of micro-batches that an accelerator was told when it was made."""
    return ex.made_with.get(accelerator, {}).get(frameworks.ACCUMULATION)


def _left_behind(call: Call) -> Leaves:
    """What a backward is told to keep."""
    recorded = _is_told(call, spelling.CREATE_GRAPH, 3 if call.receiver is None else 2)
    place = 2 if call.receiver is None else 1
    retained = _is_told(call, spelling.RETAIN_GRAPH, place) or _is_told(call, spelling.RETAIN_VARIABLES, place)
    return Leaves(retained if retained is not False else recorded, recorded)


def _is_told(call: Call, name: str, place: int) -> bool | None:
    """Whether an argument that is off unless told is on."""
    told = call.keywords.get(name) or (call.positional[place] if len(call.positional) > place else None)
    if told is None:
        return None if calls.REST in call.keywords else False
    return bool(told.constant.value) if told.constant is not None else None


def _divided_on_the_way(ex: Execution, call: Call, loss: Value) -> frozenset[Hashable]:
    """What a backward divides by itself: an accelerator by what it was told, a tensor by what it is seeded with."""
    obj = call.obj
    if obj is not None and obj.kind is ObjectKind.ENGINE:
        return frozenset({obj})
    if obj is not None and obj.kind is ObjectKind.ACCELERATOR:
        told = told_size(ex, obj)
        divisor = name_of(told) if told is not None else obj if obj.given else obj.divisor
        return frozenset({divisor}) if divisor not in (None, ("k", 1)) else frozenset()
    seeds = [value for value in call.positional[:1] if value is not loss and not is_none(value)]
    seeds += [call.keywords[name] for name in (spelling.SEED,) if name in call.keywords]
    return frozenset(name_of(seed) for seed in seeds)


def _steps(ex: Execution, call: Call) -> Value:
    obj = call.obj
    assert obj is not None
    if obj.kind is ObjectKind.SCALER:
        for value in [call.first] if call.first is not None else []:
            _steps_through(ex, obj, value, call)
        return ex.unknown(call.node)
    for value in (*call.positional, *call.keywords.values()):
        for one in value.objects:
            if one.kind in (ObjectKind.FUNCTION, ObjectKind.BOUND):
                run_closure(ex, obj, value, call.node)
    # A given thing whose step is told something is no optimizer of torch's.
    told = obj.given and any(not _is_closure(value) for value in (*call.positional, *call.keywords.values()))
    gradients.consume(ex, obj, call.node, scaled=obj.mode is Mode.PREPARED, weak=call.weak or told)
    return ex.unknown(call.node)


def _steps_through(ex: Execution, scaler: Obj, value: Value, call: Call) -> None:
    """scaler.step(optimizer), which is one of several perhaps."""
    chosen = gradients.stepped_by_scaler(value)
    with gradients.alternatives(ex, chosen) as alternative:
        for one in chosen:
            weak = not alternative(one) and len(chosen) > 1
            gradients.consume(ex, one, call.node, scaled=not scaler.off, weak=weak)
            if not scaler.off:
                scaling.divided(ex, one, call.node, weak=weak, loosely=True)
            scaling.stepped(ex, scaler, one, value, call.node, weak=weak or call.weak)


def _half_steps(ex: Execution, call: Call) -> Value:
    """Half a sharpness-aware step. The first one consumes the gradients as a whole step does, but proves nothing."""
    obj = call.obj
    assert obj is not None
    told = call.first or call.keywords.get(spelling.ZERO_GRAD)
    if call.row.act is Act.ASCENDS and told is not None and told.constant is not None and told.constant.value:
        gradients.climb(ex, obj, call.node)
    gradients.consume(ex, obj, call.node, weak=call.weak, judged=call.row.act is Act.DESCENDS)
    if told is not None and not (told.constant is not None and not told.constant.value):
        gradients.clear(ex, gradients.held_by(obj), call.node, of=obj, weak=call.weak or told.constant is None)
    return ex.none


def _is_closure(value: Value) -> bool:
    kinds = (ObjectKind.FUNCTION, ObjectKind.BOUND, ObjectKind.GIVEN)
    return is_none(value) or any(one.kind in kinds for one in value.objects)


class Closure(NamedTuple):
    """A function that a step evaluates, perhaps again and again."""

    optimizer: Obj
    branch: Branch
    what: str


def run_closure(ex: Execution, optimizer: Obj, closure: Value, node: ast.AST) -> None:
    branch = ex.branch(node, "closure")
    ex.records.append(branch)
    calls.call(ex, closure, [], {}, node)
    ex.records.remove(branch)
    if optimizer.shape is Shape.REPEATS:
        ex.closures[ex.site(node)] = Closure(optimizer, branch, gradients.wording(node))


def _clears(ex: Execution, call: Call) -> Value:
    obj = call.obj
    if obj is None:
        regions = gradients.regions_of(ex, call.first) if call.first is not None else NO_OBJECTS
        gradients.clear(ex, regions, call.node, by_hand=True, zeros=True)
    elif obj.kind is ObjectKind.OPTIMIZER:
        gradients.clear(ex, gradients.held_by(obj), call.node, of=obj, weak=call.weak, zeros=_keeps_zeros(call))
    elif obj.kind in (ObjectKind.MODULE, ObjectKind.ENGINE):
        gradients.clear(ex, frozenset({obj}), call.node, weak=call.weak, zeros=_keeps_zeros(call))
    else:
        gradients.clear(ex, gradients.own_regions(obj), call.node, weak=call.weak)
    return ex.none


def _keeps_zeros(call: Call) -> bool | None:
    """Whether a clear was told to fill with zeros. None: nobody knows."""
    told = call.keywords.get(spelling.SET_TO_NONE) or call.first
    if told is None:
        return None if calls.REST in call.keywords else False
    return not told.constant.value if told.constant is not None else None


def _clips(ex: Execution, call: Call) -> Value:
    first = call.first
    if call.obj is not None and call.obj.kind is ObjectKind.OPTIMIZER:
        regions = gradients.held_by(call.obj)
    else:
        regions = gradients.regions_of(ex, first) if first is not None else NO_OBJECTS
    if first is not None:
        _read_all(ex, call, first, regions)
    limit = call.positional[1] if len(call.positional) > 1 else None
    limit = limit or call.keywords.get(spelling.MAX_NORM) or call.keywords.get(spelling.CLIP_VALUE)
    identity = ex.fresh(call.node)
    ex.tensor_ids.add(identity)
    if call.node is not ex.dropped:
        gradients.look_at(ex)  # the norm is wanted
    if limit is not None and LOSS_SCALE in limit.divisors:
        gradients.touch(ex, regions, call.node)
    elif not (limit is not None and limit.constant is not None and limit.constant.value == float("inf")):
        unprepared = call.obj is not None and call.obj.shape is Shape.HALF
        clipping.clip(ex, regions, call.node, scaled=call.row.scaled, only_prepared=unprepared)
    return Value(identity, graph=Graph.CUT)


def _clips_all(ex: Execution, call: Call) -> Value:
    regions: frozenset[Obj] = NO_OBJECTS
    for value in (*call.positional[:2], *call.keywords.values()):
        named = [one for one in value.objects if one.kind is ObjectKind.OPTIMIZER]
        regions = gradients.held_by(named[0]) if len(named) == 1 else regions | gradients.regions_of(ex, value)
        if len(named) == 1:
            break  # of a network and its optimizer: what that one holds
    clipping.clip(ex, regions, call.node, scaled=True)
    return ex.unknown(call.node)


def _unscales(ex: Execution, call: Call) -> Value:
    for value in [call.first] if call.first is not None else []:
        if call.obj is not None and call.obj.kind is ObjectKind.SCALER and not call.obj.off:
            scaling.unscale_one(ex, call.obj, value, call.node)
        elif call.obj is None or not call.obj.off:
            scaling.unscale(ex, gradients.stepped_by_scaler(value), call.node)
    if call.first is None and call.obj is not None and call.obj.kind is ObjectKind.ACCELERATOR:
        scaling.unscale(ex, gradients.optimizers(ex), call.node)
    return ex.none


def _updates(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    scaling.updated(ex, call.obj, call.node, told=bool(call.positional or call.keywords))
    return ex.none


def _restores(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    ex.noted += 1
    ex.scalers.pop(call.obj, None)
    return ex.none


def _schedules(ex: Execution, call: Call) -> Value:
    obj = call.obj
    assert obj is not None
    told = [value for value in (*call.positional, *call.keywords.values()) if not is_none(value)]
    if not obj.off and not told:
        elsewhere = obj.given and not obj.optimizers and not ex.loops  # its maker may have taken a first step
        schedules.schedule(ex, _scheduled(ex, obj), call.node, weak=call.weak or obj.hinted or elsewhere)
    return ex.unknown(call.node)


def _scheduled(ex: Execution, schedule: Obj) -> set[Obj]:
    """Whose rate a schedule moves: of one that was given, that of the only optimizer that steps."""
    known = ex.tables.active
    return schedule.optimizers or (known if schedule.given and len(known) == 1 else set())


def _scales(ex: Execution, call: Call) -> Value:
    first, obj = call.first, call.obj
    if first is None or obj is None:
        return ex.unknown(call.node)
    identity = ex.fresh(call.node, made_of=(first.id,))
    return first._replace(id=identity, scaled=first.scaled or not obj.off)


def _loss_scale(ex: Execution, call: Call) -> Value:
    return Value(ex.fresh(call.node), divisors=frozenset({LOSS_SCALE}))


def _steps_all(ex: Execution, call: Call) -> Value:
    """An engine steps, clips and clears as it is configured: nobody here can tell when."""
    return ex.unknown(call.node)


def _optimizers(ex: Execution, call: Call) -> Value:
    """Lightning's self.optimizers(): what configure_optimizers() returns."""
    obj = call.obj
    if obj is None or obj.cls is None:
        return ex.unknown(call.node)
    method = ex.classes.of(obj.cls).methods.get(spelling.CONFIGURE_OPTIMIZERS)
    if method is None:  # a class above it is asked, which nobody can read
        return ex.given("optimizers", obj, of=obj)
    if obj in ex.configured:
        known, fields = ex.configured[obj]
        for field, held in fields.items():  # where it was executed first, they may have been undone
            ex.store.put(field, held)
        return known
    found = calls.inline(
        ex, calls.method_object(ex, method), [], {}, method.node, receiver=ex.thing(obj), cls=method.cls
    )
    chosen = _first_optimizers(ex, found)
    ex.configured[obj] = chosen, calls.fields_of(ex, chosen)
    return chosen


def _first_optimizers(ex: Execution, value: Value) -> Value:
    """Of optimizers with their schedules, the optimizers; of a list of one, that one; whichever was returned."""
    found: Value | None = None
    for obj in sorted(value.objects):
        one = _optimizers_in(ex, obj, value)
        found = one if found is None else join(found, one, ex.identities.of("met", "optimizers", made_of=(value.id,)))
    return found if found is not None else value


def _optimizers_in(ex: Execution, obj: Obj, value: Value) -> Value:
    whole = value if len(value.objects) == 1 or not value.exact else ex.thing(obj)
    listed = containers.places(ex, whole)
    if listed is None:
        return ex.store.get((obj, containers.at(spelling.OPTIMIZER_KEYWORD))) or whole
    if listed and containers.places(ex, listed[0]) is not None:  # and their schedules stand in the second list
        return _first_optimizers(ex, listed[0])
    inner = [_first_optimizers(ex, one) for one in listed]
    if len(inner) == 1:
        return inner[0]
    if inner == listed:
        return whole
    made = ex.heap.of("optimizers of", obj, kind=ObjectKind.CONTAINER)
    containers.fill(ex, made, inner)
    return ex.thing(made)


def _toggles(ex: Execution, call: Call) -> Value:
    """toggle_optimizer(opt): the parameters of the others take no gradient until it is toggled back."""
    chosen = {one for value in call.positional for one in value.objects if one.kind is ObjectKind.OPTIMIZER}
    for optimizer in gradients.optimizers(ex):
        if chosen and optimizer not in chosen:
            gradients.doubt_optimizers(ex, [optimizer])
    return ex.none


# --- reads or changes a structure


def _parameters(ex: Execution, call: Call) -> Value:
    if call.obj is None:  # of an optimizer: apex's master_params
        regions = gradients.regions_of(ex, call.first) if call.first is not None else NO_OBJECTS
    else:
        regions = frozenset({call.obj})
    named = call.row.act is Act.NAMED_PARAMETERS
    obj = ex.heap.of("parameters", regions, named, kind=ObjectKind.PARAMETERS)
    obj.regions, obj.shape = regions, Shape.NAMED if named else Shape.PLAIN
    obj.given = any(one.given for one in regions)
    return _value(ex, call, obj)._replace(iterators=iterators.new(ex, call.node, regions=regions))


def _freezes(ex: Execution, call: Call) -> Value:
    obj = call.obj
    assert obj is not None
    needs = call.first or call.keywords.get(spelling.REQUIRES_GRAD) or ex.constant(True)
    regions = gradients.own_regions(obj) if obj.kind is not ObjectKind.MODULE else frozenset({obj})
    for region in regions:
        gradients.freeze(ex, region, needs)
    return call.receiver if call.receiver is not None else ex.none


def _parts(ex: Execution, call: Call) -> Value:
    obj = call.obj
    assert obj is not None
    made = ex.heap.of("parts", obj, call.row.act, kind=ObjectKind.CONTAINER)
    inner = ex.thing(containers.part(ex, obj, containers.ELEMENT))
    if call.row.act is Act.NAMED_PARTS:
        pair = ex.heap.of("named part", obj, kind=ObjectKind.CONTAINER)
        ex.store.put((pair, containers.at(0)), Value(ex.identities.of("key", made)))
        ex.store.put((pair, containers.at(1)), inner)
        inner = ex.thing(pair)
    ex.store.put((made, containers.ELEMENT), inner)
    return _value(ex, call, made)


def _adds_part(ex: Execution, call: Call) -> Value:
    obj = call.obj
    last = call.keywords.get(spelling.MODULE) or (call.positional[-1] if call.positional else None)
    if obj is not None and last is not None:
        for one in last.objects:
            if one.kind in (ObjectKind.MODULE, ObjectKind.LEAF) and one is not obj:
                obj.children.add(one)
            elif one.kind is ObjectKind.GIVEN:
                obj.taken.add(one)
        name = call.keywords.get(spelling.NAME) or (call.positional[0] if call.positional else None)
        if name is not None and name.constant is not None and isinstance(name.constant.value, str):
            ex.store.put((obj, name.constant.value), last)
    return call.receiver if call.receiver is not None else ex.none


def _adds_group(ex: Execution, call: Call) -> Value:
    obj = call.obj
    assert obj is not None
    for value in call.positional:
        regions = gradients.regions_of(ex, value)
        obj.held = obj.held | regions
        replacing.given(ex, obj, regions, call.node)
        holding.given(ex, value)
    return ex.none


def _state(ex: Execution, call: Call) -> Value:
    obj = containers.new(ex, call.node, shape=Shape.DICT)
    obj.regions = frozenset({call.obj} if call.obj is not None else ())
    return Value(ex.fresh(call.node), frozenset({obj}), exact=False)


def _loads(ex: Execution, call: Call) -> Value:
    obj, first = call.obj, call.first
    assert obj is not None
    loaded = frozenset(region for one in first.objects for region in one.regions) if first is not None else NO_OBJECTS
    obj.copied_from |= loaded - {obj}
    ex.tables.add(ex.tables.written, obj)
    assign = call.keywords.get(spelling.ASSIGN)
    if calls.REST in call.keywords or (assign is not None and not (assign.constant and not assign.constant.value)):
        ex.overlap.tied |= {obj, *loaded}
    updates.take_back(ex, obj)
    return _nothing(ex, call)


def _prepares(ex: Execution, call: Call) -> Value:
    if call.obj is not None and call.obj.shape is Shape.HALF:
        for value in call.positional:
            for one in value.objects:
                one.mode = Mode.PREPARED if one.kind in (ObjectKind.OPTIMIZER, ObjectKind.GIVEN) else one.mode
    if len(call.positional) == 1:
        return call.positional[0]
    obj = containers.new(ex, call.node)
    containers.fill(ex, obj, call.positional)
    return _value(ex, call, obj)


def _first(ex: Execution, call: Call) -> Value:
    return call.first if call.first is not None else ex.unknown(call.node)


_WEIGHTS = (ObjectKind.PARAMETER, ObjectKind.LEAF)


def _hooks(ex: Execution, call: Call) -> Value:
    """A function that runs whenever this steps or goes backward: nobody can tell what it does then."""
    gradients.look_at(ex)
    if call.obj is not None and call.obj.kind is ObjectKind.OPTIMIZER:
        call.obj.hinted = True
        return Value(ex.fresh(call.node), exact=False)
    owners = [one for one in call.receiver.objects if one.kind in _WEIGHTS] if call.receiver is not None else []
    ex.tables.keep_gradient |= {call.receiver.id} if call.receiver is not None else set()
    regions = frozenset().union(*(gradients.own_regions(one) for one in owners))
    function = call.first
    if regions and function is not None and clipping.hooked(ex, regions, function, call.node):
        return Value(ex.fresh(call.node), exact=False)
    if not ex.exploring and any(
        calls.names_events(ex, one.function)
        for value in call.positional
        for one in value.objects
        if one.kind is ObjectKind.FUNCTION and one.function is not None
    ):
        for optimizer in gradients.optimizers(ex):
            optimizer.hinted = True
    return Value(ex.fresh(call.node), exact=False)


def _forward_hook(ex: Execution, call: Call) -> Value:
    if call.obj is not None and call.first is not None:
        ex.tables.hooks[call.obj] = call.first
    return _hooks(ex, call)


def _appends(ex: Execution, call: Call) -> Value:
    obj = call.obj
    if obj is None or not call.positional:
        return ex.none
    value = call.positional[-1]
    if call.row.act is Act.EXTENDS:
        iterators.read(ex, value, call.node, by=gradients.wording(call.node))
        if obj.kind is ObjectKind.PARAMETERS:
            obj.regions |= gradients.regions_of(ex, value)
        known = containers.places(ex, value)
        for one in known if known is not None else [containers.element(ex, value, call.node)]:
            if known is not None:
                containers.append(ex, obj, one)
            else:
                containers.grow(ex, obj, one)
    elif obj.kind is ObjectKind.PARAMETERS:
        obj.regions |= gradients.regions_of(ex, value)
    else:
        containers.append(ex, obj, keeping.put(ex, obj, value, call.node))
    return ex.none


def _views(ex: Execution, call: Call) -> Value:
    obj, receiver = call.obj, call.receiver
    assert obj is not None
    assert receiver is not None
    inner = ex.store.get((obj, containers.ELEMENT))
    if inner is None and obj.kind is ObjectKind.GIVEN:
        inner = containers.element(ex, receiver, call.node)
    inner = inner or ex.unknown(call.node, "held")
    made = ex.heap.of("view", obj, call.row.act, kind=ObjectKind.CONTAINER)
    made.shape = Shape.PLAIN
    keys = [
        (name[1], value)
        for (_, name), value in ex.store.fields(obj)
        if isinstance(name, tuple) and obj.shape is Shape.DICT
    ]
    key = Value(ex.identities.of("key", obj), exact=False)
    if call.row.act is Act.VALUES:
        values = [value for _, value in keys]
    elif call.row.act is Act.KEYS:
        values, inner = [ex.constant(one) for one, _ in keys], key
    else:
        values = [_pair_of(ex, obj, one, ex.constant(one), value) for one, value in keys]
        inner = _pair_of(ex, obj, None, key, inner)
    if values and obj.kind is ObjectKind.CONTAINER and not obj.many:
        containers.fill(ex, made, values)
    else:
        for field, _ in ex.store.fields(made):
            ex.store.drop(field)
        ex.store.put((made, containers.ELEMENT), inner)
    return _value(ex, call, made)


def _pair_of(ex: Execution, obj: Obj, place: object, key: Value, value: Value) -> Value:
    pair = ex.heap.of("item", obj, repr(place), kind=ObjectKind.CONTAINER)
    containers.fill(ex, pair, [key, value])
    return ex.thing(pair)


def _gets(ex: Execution, call: Call) -> Value:
    assert call.receiver is not None
    assert call.obj is not None
    if call.positional:
        found = containers.read(ex, call.receiver, call.positional[0], call.node)
        held = ex.store.get((call.obj, containers.ELEMENT))
        if held is None and len(call.positional) > 1:
            return call.positional[1] if call.receiver.exact else _unless_set(ex, call)
        return found
    return ex.store.get((call.obj, containers.ELEMENT)) or ex.unknown(call.node)


def _unless_set(ex: Execution, call: Call) -> Value:
    """get(name, default) of what may be an empty dict, or something that nobody knows: a setting."""
    assert call.receiver is not None
    name, default = call.positional[:2]
    identity = ex.identities.of("item", name_of(name), made_of=(call.receiver.id,))
    if default.constant is not None:
        ex.by_default[identity] = default.constant.value
    if isinstance(default.number, Linear) and default.number.base is None:
        ex.unless_told[identity] = default.number.offset
    return Value(identity, exact=False)


def _pops(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    keeping.empty(ex, call.obj)
    ex.store.drop((call.obj, containers.LENGTH))
    return ex.store.get((call.obj, containers.ELEMENT)) or ex.unknown(call.node)


def _empties(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    keeping.empty(ex, call.obj)
    for key, _ in ex.store.fields(call.obj):
        ex.store.drop(key)
    return ex.none


def _merges(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    for value in call.positional:
        containers.merge(ex, call.obj, value, call.node)
    for name, value in call.keywords.items():
        containers.put_item(ex, call.obj, ex.constant(name), value)
    return ex.none


def _copy(ex: Execution, call: Call) -> Value:
    first = call.first
    if first is None:
        return ex.unknown(call.node)
    modules = [one for one in first.objects if one.kind is ObjectKind.MODULE or _acts_as_module(one)]
    if not modules and len(first.objects) == 1:
        (known,) = first.objects
        if known.kind is ObjectKind.OPTIMIZER and known.wholly:
            return replacing.copied(ex, known, call.node)
    if not modules:
        return first._replace(id=ex.fresh(call.node))
    obj = ex.heap.of("copy", call.node, ex.context, kind=ObjectKind.MODULE)
    obj.context = ex.context
    obj.cls, obj.copied_from, obj.learns = modules[0].cls, frozenset(modules), modules[0].learns
    ex.begin_anew(reach(obj))
    for key, value in ex.store.fields(modules[0]):
        if not any(one.kind is ObjectKind.MODULE for one in value.objects):
            ex.store.put((obj, key[1]), value)
    return _value(ex, call, obj)


def _acts_as_module(obj: Obj) -> bool:
    return obj.kind is ObjectKind.GIVEN and bool(obj.uses & {"parameters()", "named_parameters()"})


def _zeroes(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    gradients.clear(ex, call.obj.regions, call.node, weak=gradients.is_partial(ex), by_hand=True, zeros=True)
    return call.receiver if call.receiver is not None else ex.none


def _fills(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    told = call.first.constant if call.first is not None else None
    if told is not None and told.value in (0, 0.0):
        return _zeroes(ex, call)
    return _touches(ex, call)


def _replaces(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    gradients.replaced(ex, call.obj.regions, call.first or ex.unknown(call.node), call.node)
    return call.receiver if call.receiver is not None else ex.none


def _clamps(ex: Execution, call: Call) -> Value:
    """clamp_() of a gradient. Of what a hook is handed, nothing lies in a slot yet; of a copy, nothing ever does."""
    assert call.obj is not None
    if call.obj.shape is Shape.INCOMING and ex.hook is not None:
        ex.hook.append(call.obj.regions)
    elif call.obj.shape is Shape.PLAIN:
        clipping.clip(ex, call.obj.regions, call.node)
    return call.receiver if call.receiver is not None else ex.none


def _clamped(ex: Execution, call: Call) -> Value:
    """clamp(): a new tensor. Of a gradient, a clip into a copy."""
    subject, out = call.subject, call.keywords.get(spelling.OUT)
    if subject is not None and len(subject.objects) == 1 and subject.exact:
        (obj,) = subject.objects
        if obj.kind is ObjectKind.GRADIENT:
            if obj.shape is not Shape.INCOMING:
                gradients.read_by_hand(ex, obj.regions)
            made = clipping.clipped_copy(ex, obj, call.node)
            for one in out.objects if out is not None else ():
                gradients.replaced(ex, one.regions, made, call.node)
            return made if out is None else out
    return _computes(ex, call)


def _adds(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    gradients.add_by_hand(ex, call.obj.regions, call.node)
    return call.receiver if call.receiver is not None else ex.none


def _touches(ex: Execution, call: Call) -> Value:
    assert call.obj is not None
    gradients.touch(ex, call.obj.regions, call.node)
    return call.receiver if call.receiver is not None else ex.none


# --- Python


def _enumerate(ex: Execution, call: Call) -> Value:
    if not call.positional:
        return ex.unknown(call.node)
    iterated = call.positional[0]
    obj = containers.new(ex, call.node, shape=Shape.ENUMERATE)
    generators = [
        one
        for one in iterated.objects
        if one.kind is ObjectKind.GENERATOR and one.function is not None and calls.names_events(ex, one.function)
    ]
    obj.element_of = generators[0] if generators else None
    if obj.element_of is None:
        ex.store.put((obj, containers.ELEMENT), containers.element(ex, iterated, call.node))
    start = call.positional[1] if len(call.positional) > 1 else call.keywords.get(spelling.START)
    ex.store.put((obj, containers.START), start if start is not None else ex.constant(0))
    return _iterating(ex, call, Value(ex.fresh(call.node), frozenset({obj}), length=containers.length_of(ex, iterated)))


def _range(ex: Execution, call: Call) -> Value:
    if not call.positional:
        return ex.unknown(call.node)
    obj = containers.new(ex, call.node, shape=Shape.RANGE)
    start = call.positional[0] if len(call.positional) > 1 else ex.constant(0)
    ex.store.put((obj, containers.START), start)
    ex.store.put((obj, containers.ELEMENT), Value(ex.fresh(call.node, "number")))
    length: Linear | None = None
    if len(call.positional) < 3:
        end, begins = linear(call.positional[min(1, len(call.positional) - 1)]), linear(start)
        length = Linear(end.base, end.offset - begins.offset) if begins.base is None else None
        if length is not None and begins.offset == 0 and isinstance(call.node, ast.Call) and call.node.args:
            ex.tables.named.setdefault(length, ast.unparse(call.node.args[-1]))
    else:
        told = [one.constant.value for one in call.positional if one.constant is not None]
        whole = [one for one in told if isinstance(one, int)]
        if len(whole) == 3 and whole[2]:
            length = Linear(None, len(range(whole[0], whole[1], whole[2])))
    return Value(ex.fresh(call.node), frozenset({obj}), length=length)


def _counts(ex: Execution, call: Call) -> Value:
    if len(call.positional) > 1 or call.keywords:
        return ex.unknown(call.node)
    obj = containers.new(ex, call.node, shape=Shape.RANGE)
    ex.store.put((obj, containers.START), call.positional[0] if call.positional else ex.constant(0))
    return _value(ex, call, obj)


def _length(ex: Execution, call: Call) -> Value:
    if not call.positional:
        return ex.unknown(call.node)
    value = call.positional[0]
    for obj in sorted(value.objects):
        known = ex.store.get((obj, containers.LENGTH))
        if known is not None and known.exact and len(value.objects) == 1:
            return known
    length = containers.length_of(ex, value)
    if length is None:
        return ex.unknown(call.node)
    if length.base is None:
        return ex.constant(length.offset)
    if length.offset == 0:
        return Value(length.base, number=length)
    return Value(ex.identities.of("length", length.offset, made_of=(length.base,)), number=length)


def _list(ex: Execution, call: Call) -> Value:
    if call.positional:
        iterators.read(ex, call.positional[0], call.node, by=gradients.wording(call.node))
        made = call.positional[0]._replace(iterators=NO_ITERATORS)
    else:
        obj = containers.new(ex, call.node)
        containers.fill(ex, obj, [])
        made = _value(ex, call, obj)
    if call.keywords.get(spelling.MAX_LENGTH) is not None or len(call.positional) > 1:
        for one in made.objects:
            keeping.empty(ex, one)  # it lets go of the oldest
    return made


def _iterates(ex: Execution, call: Call) -> Value:
    """iter(x): of an iterator, itself."""
    if not call.positional:
        return ex.unknown(call.node)
    return _iterating(ex, call, call.positional[0])


def _iterating(ex: Execution, call: Call, value: Value) -> Value:
    """What reads all that the call is handed, when it is read."""
    return value._replace(iterators=iterators.new(ex, call.node, call.positional))


def _set(ex: Execution, call: Call) -> Value:
    """Each of what it is given once: nobody knows how many."""
    return _list(ex, call)._replace(exact=False)


def _filter(ex: Execution, call: Call) -> Value:
    """Some of what it is given."""
    if len(call.positional) < 2:
        return ex.unknown(call.node)
    return _iterating(ex, call, call.positional[1]._replace(exact=False))


def _map(ex: Execution, call: Call) -> Value:
    if len(call.positional) < 2:
        return ex.unknown(call.node)
    elements = [containers.element(ex, value, call.node) for value in call.positional[1:]]
    found = calls.call(ex, call.positional[0], elements, {}, call.node)
    obj = containers.new(ex, call.node)
    containers.grow(ex, obj, found)
    return _iterating(ex, call, _value(ex, call, obj))


def _zip(ex: Execution, call: Call) -> Value:
    obj = containers.new(ex, call.node)
    rows = [containers.places(ex, value) for value in call.positional]
    known = [row for row in rows if row is not None]
    if known and len(known) == len(rows):
        pairs = []
        for index, values in enumerate(zip(*known, strict=False)):
            pair = containers.new(ex, call.node, "pair", index)
            containers.fill(ex, pair, values)
            pairs.append(ex.thing(pair))
        containers.fill(ex, obj, pairs)
        return _iterating(ex, call, _value(ex, call, obj))
    counting = [value for value in call.positional if containers.counts(value)]
    if len(counting) == 1:  # numbers beside something else: as with enumerate(), they count the loop
        others = [value for value in call.positional if value is not counting[0]]
        obj.shape = Shape.ZIP
        containers.fill(ex, obj, call.positional)
        length = containers.length_of(ex, others[0]) if len(others) == 1 and counting[0].length is None else None
        return _iterating(ex, call, Value(ex.fresh(call.node), frozenset({obj}), length=length))
    pair = containers.new(ex, call.node, "pair")
    containers.fill(ex, pair, [containers.element(ex, value, call.node) for value in call.positional])
    ex.store.put((obj, containers.ELEMENT), ex.thing(pair))
    full = any(one.kind is ObjectKind.PARAMETERS for value in call.positional for one in value.objects)
    obj.shape = Shape.GROUPS if full else Shape.PLAIN
    if all(containers.is_batch_in_parts(value) for value in call.positional):
        obj.shape = Shape.PARTS
    lengths = {value.length for value in call.positional}
    return _iterating(ex, call, _value(ex, call, obj)._replace(length=lengths.pop() if len(lengths) == 1 else None))


def _next(ex: Execution, call: Call) -> Value:
    if not call.positional:
        return ex.unknown(call.node)
    found = containers.element(ex, call.positional[0], call.node)
    return found if found.objects else found._replace(id=ex.fresh(call.node))


def _getattr(ex: Execution, call: Call) -> Value:
    if len(call.positional) < 2:
        return ex.unknown(call.node)
    base, name = call.positional[:2]
    if name.constant is not None and isinstance(name.constant.value, str):
        return attributes.read(ex, base, name.constant.value, call.node)
    for obj in base.objects:
        if obj.kind is ObjectKind.EXTERNAL:
            row = row_of(obj.name + ".Any")
            if row is not None and row.act in (Act.OPTIMIZER, Act.MODULE, Act.SCHEDULER):
                return expressions.external(ex, obj.name + ".Any")
    if any(obj.kind in (ObjectKind.INSTANCE, ObjectKind.MODULE) for obj in base.objects):
        return attributes.bound(ex, base, "")  # one of its methods, nobody knows which
    return ex.given("result", call.node, ex.context)


def _setattr(ex: Execution, call: Call) -> Value:
    if len(call.positional) > 2:
        base, name, value = call.positional[:3]
        if name.constant is not None and isinstance(name.constant.value, str):
            attributes.write(ex, base, name.constant.value, value, call.node)
        else:
            for obj in base.objects:
                if obj.kind is ObjectKind.MODULE:
                    attributes.adopt(ex, obj, value)
                elif obj.given or obj.shown:
                    gradients.show(ex, [value])
    return ex.none


def _total(ex: Execution, call: Call) -> Value:
    if not call.positional:
        return ex.unknown(call.node)
    iterators.read(ex, call.positional[0], call.node, by=gradients.wording(call.node))
    one = containers.element(ex, call.positional[0], call.node)
    if not one.graph:
        return Value(ex.fresh(call.node))
    fixed = containers.places(ex, call.positional[0]) is not None
    summed = one._replace(id=ex.fresh(call.node), objects=NO_OBJECTS)
    if fixed:
        return summed
    # The sum of as many means as there happen to be is no mean, until it is divided by their number.
    return summed._replace(reduction="", divisors=one.divisors | {Times(call.positional[0].id, one.reduction)})


def _integer(ex: Execution, call: Call) -> Value:
    first = call.first
    if first is not None and first.graph is Graph.NONE:
        return first
    return _number(ex, call)


def _has_attribute(ex: Execution, call: Call) -> Value:
    if len(call.positional) < 2:
        return ex.unknown(call.node)
    one, name = call.positional[:2]
    asked = name.constant.value if name.constant is not None else None
    if one.coat is Coat.WRAPPED and isinstance(asked, str) and attributes.is_inner((), asked):
        return ex.constant(True)
    return _is_instance(ex, call)


def _is_instance(ex: Execution, call: Call) -> Value:
    if len(call.positional) < 2:
        return ex.unknown(call.node)
    one, other = call.positional[:2]
    externals = [obj.name for obj in other.objects if obj.kind is ObjectKind.EXTERNAL]
    tensors = [name for name in externals if (row := row_of(name)) is not None and row.act is Act.WRAPS]
    if one.graph is Graph.LIVE and not one.objects and one.exact and tensors:
        return ex.constant(True)
    rows = [row_of(name) for name in externals]
    if one.coat is Coat.WRAPPED and any(row is not None and row.act is Act.REPLICATES for row in rows):
        return ex.constant(True)
    return Value(ex.fresh(call.node), test=Asked("isinstance", (one.id, name_of(other))))


def _is_tensor(ex: Execution, call: Call) -> Value:
    first = call.first
    if first is None:
        return ex.unknown(call.node)
    if first.graph in (Graph.LIVE, Graph.CUT) and not first.objects and first.exact:
        return ex.constant(True)
    return Value(ex.fresh(call.node), test=Asked("isinstance", (first.id, "tensor")))


def _chains(ex: Execution, call: Call) -> Value:
    parts = [value._replace(iterators=NO_ITERATORS) for value in call.positional]
    return _iterating(ex, call, containers.concatenated(ex, parts, call.node))


def _method_caller(ex: Execution, call: Call) -> Value:
    first = call.first
    if first is None or first.constant is None or not isinstance(first.constant.value, str):
        return ex.unknown(call.node)
    obj = ex.heap.of("caller", call.node, ex.context, kind=ObjectKind.CALLER)
    obj.name = first.constant.value
    return _value(ex, call, obj)


def _namespace(ex: Execution, call: Call) -> Value:
    obj = containers.new(ex, call.node, shape=Shape.DICT)
    for value in call.positional:
        if any(one.kind is ObjectKind.CONTAINER for one in value.objects):
            containers.merge(ex, obj, value, call.node)
        elif any(one.kind is ObjectKind.PARAMETERS for one in value.objects):  # pairs of names and parameters
            containers.grow(ex, obj, containers.item(ex, containers.element(ex, value, call.node), 1, call.node))
    for name, value in call.keywords.items():
        containers.put_item(ex, obj, ex.constant(name), value)
        ex.store.put((obj, name), value)
    return _value(ex, call, obj)


def _ends(ex: Execution, call: Call) -> Value:
    raise Unreachable


_ACTS: dict[Act, Callable[[Execution, Call], Value]] = {
    Act.MODULE: _module,
    Act.PLAIN_MODULE: _plain_module,
    Act.UNPICKLES: _unpickles,
    Act.SEEDS: _seeds,
    Act.SETS_DEVICE: _sets_device,
    Act.CRITERION: _criterion,
    Act.OPTIMIZER: _optimizer,
    Act.SCALER: _scaler,
    Act.CALLABLE_SCALER: _scaler,
    Act.SCHEDULER: _scheduler,
    Act.PLATEAU: _scheduler,
    Act.PARAMETER: _parameter,
    Act.LOADER: _loader,
    Act.ACCELERATOR: _accelerator,
    Act.MAKES: _makes,
    Act.WRAPPER: _wrapper,
    Act.REPLICATES: _replicates,
    Act.QUIETS: _quiets,
    Act.REDUCES: _reduces_by_hand,
    Act.REPLAYS: _replay,
    Act.COMPUTES: _computes,
    Act.LOSS: _loss,
    Act.MEAN: _reduces,
    Act.SUM: _reduces,
    Act.CUTS: _cuts,
    Act.CUTS_ITSELF: _cuts_itself,
    Act.FLAT: _cuts,
    Act.LIKE: _like,
    Act.SPLITS: _splits,
    Act.NUMBER: _number,
    Act.NEW_TENSOR: _new_tensor,
    Act.COPIES: _copies,
    Act.WRAPS: _copies,
    Act.SAME: _same,
    Act.MOVES: _moves,
    Act.CASTS: _casts,
    Act.ASKS: _asks,
    Act.DIVIDES: _divides,
    Act.MULTIPLIES: _divides,
    Act.LEAF: _leaf,
    Act.AUTOGRAD: _autograd,
    Act.CHECKPOINT: _checkpoint,
    Act.FUNCTIONAL: _functional,
    Act.NO_GRAD: _no_grad,
    Act.GRAD: _grad,
    Act.GRAD_IF: _grad_if,
    Act.CONTEXT: _plain_context,
    Act.CAPTURE: _capture,
    Act.FAILS: _fails,
    Act.ACCUMULATES: _accumulates,
    Act.COPIES_WEIGHTS: _copies_weights,
    Act.SCALE_LOSS: _scale_loss,
    Act.DEPOSITS: _deposits,
    Act.MANUAL: _deposits,
    Act.STEPS: _steps,
    Act.ASCENDS: _half_steps,
    Act.DESCENDS: _half_steps,
    Act.CLEARS: _clears,
    Act.CLIPS: _clips,
    Act.CLIPS_ALL: _clips_all,
    Act.UNSCALES: _unscales,
    Act.SCHEDULES: _schedules,
    Act.UPDATES: _updates,
    Act.RESTORES: _restores,
    Act.SCALES: _scales,
    Act.LOSS_SCALE: _loss_scale,
    Act.STEPS_ALL: _steps_all,
    Act.OPTIMIZERS: _optimizers,
    Act.TOGGLES: _toggles,
    Act.PARAMETERS: _parameters,
    Act.NAMED_PARAMETERS: _parameters,
    Act.FREEZES: _freezes,
    Act.PARTS: _parts,
    Act.NAMED_PARTS: _parts,
    Act.ADDS_PART: _adds_part,
    Act.ADDS_GROUP: _adds_group,
    Act.STATE: _state,
    Act.LOADS: _loads,
    Act.PREPARES: _prepares,
    Act.UNWRAPS: _first,
    Act.HOOKS: _hooks,
    Act.FORWARD_HOOK: _forward_hook,
    Act.APPENDS: _appends,
    Act.EXTENDS: _appends,
    Act.ITEMS: _views,
    Act.VALUES: _views,
    Act.KEYS: _views,
    Act.GETS: _gets,
    Act.POPS: _pops,
    Act.EMPTIES: _empties,
    Act.MERGES: _merges,
    Act.COPY: _copy,
    Act.ZEROES: _zeroes,
    Act.FILLS: _fills,
    Act.REPLACES: _replaces,
    Act.CLAMPS: _clamps,
    Act.CLAMPED: _clamped,
    Act.TOUCHES: _touches,
    Act.ADDS: _adds,
    Act.ENUMERATE: _enumerate,
    Act.RANGE: _range,
    Act.COUNTS: _counts,
    Act.LENGTH: _length,
    Act.LIST: _list,
    Act.ITERATES: _iterates,
    Act.SET: _set,
    Act.FILTER: _filter,
    Act.MAP: _map,
    Act.ZIP: _zip,
    Act.NEXT: _next,
    Act.GETATTR: _getattr,
    Act.SETATTR: _setattr,
    Act.TOTAL: _total,
    Act.INTEGER: _integer,
    Act.IS_INSTANCE: _is_instance,
    Act.HAS_ATTRIBUTE: _has_attribute,
    Act.IS_TENSOR: _is_tensor,
    Act.CALLS: _first,
    Act.SAME_FUNCTION: _first,
    Act.CHAINS: _chains,
    Act.CYCLES: _first,
    Act.METHOD_CALLER: _method_caller,
    Act.NAMESPACE: _namespace,
    Act.READS: _reads,
    Act.OPAQUE: _opaque,
    Act.LOCALS: _locals,
    Act.ENDS: _ends,
}
