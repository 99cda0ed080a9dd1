"""Calls: of the project's own functions, which are executed in the caller's place, and of everything else."""

import ast
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext

from zerograd.source.effects import frameworks, python, spelling, torch
from zerograd.source.effects.lookup import container_method, is_module_base, is_of_autograd, optimizer_method, row_of
from zerograd.source.effects.rows import Act, Trait
from zerograd.source.execute import (
    acts,
    attributes,
    containers,
    expressions,
    gradients,
    graphs,
    iterators,
    lost_updates,
    passing,
    ranks,
    replacing,
    statements,
    summaries,
)
from zerograd.source.execute.execution import Execution, Exhausted, Frame, Unreachable
from zerograd.source.execute.paths import State
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import Asked, Test, is_always, negate
from zerograd.source.heap.objects import Mode, Obj, ObjectKind, Shape
from zerograd.source.heap.regions import is_imported, reach
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import Applied, Graph, Value, is_none, join
from zerograd.source.project.files import Project
from zerograd.source.project.index import Class, File, Function, FunctionNode

Arguments = Sequence[Value]
Keywords = dict[str, Value]
_DEEPEST = 9  # calls within calls
_MOST_NETWORKS = 12  # of which one is called
_FORWARD_MOVES = 1_200  # statements of one network's forward()
_GRADIENT = next(name for name, trait in torch.ATTRIBUTES["parameter"].items() if trait is Trait.GRADIENT)
_ASKED_FOR_PARAMETERS = frozenset(
    f"{name}()" for name, row in torch.MODULE.items() if row.act in (Act.PARAMETERS, Act.NAMED_PARAMETERS)
)
_MOVES = frozenset(name for name, row in torch.SCHEDULER.items() if row.act is Act.SCHEDULES)
_NONE_OF_THEM = nullcontext(lambda optimizer: False)  # nearly all calls
REST = "**"  # the keyword under which a dict of keywords is handed over
# Functions that name none of these do nothing to gradients.
_EVENTS = frozenset(
    {
        *(name for name, row in torch.OPTIMIZER.items() if row.act is not Act.NOTHING),
        *(name for name, row in torch.SCALER.items() if row.act is not Act.NOTHING),
        *(name for name, row in torch.GRADIENT.items() if row.act not in (Act.SAME, Act.CLAMPED)),
        *frameworks.LIGHTNING,
        *torch.TOUCH_GRADIENTS,
    }
)


# What a meter, a dict or any tensor has as well: most who name these do nothing to gradients.
_COMMON = frozenset(
    {
        *(Act.UPDATES, Act.CASTS, Act.REPLACES, Act.ADDS, Act.TOUCHES, Act.FILLS, Act.CLAMPS),
        *(Act.ASKS, Act.RESTORES, Act.LOSS_SCALE),
    }
)
_PLAIN_EVENTS = _EVENTS - frozenset(
    name for rows in (torch.OPTIMIZER, torch.SCALER, torch.GRADIENT) for name, row in rows.items() if row.act in _COMMON
)


def names_events(ex: Execution, function: Function) -> bool:
    """Whether a function, or one of the project that it calls, may do something to gradients."""
    return function in acting_functions(ex.project, function.file)


def acting_functions(project: Project, file: File, *, plainly: bool = False) -> set[Function]:
    """The functions of a file that may do something to gradients. `plainly`: by names that little else has."""
    return project.acting(file, _PLAIN_EVENTS if plainly else _EVENTS)


def may_act(ex: Execution, obj: Obj) -> bool:
    """Whether who calls this may do something to gradients."""
    if obj.kind is ObjectKind.FUNCTION and obj.function is not None:
        return obj.function in acting_functions(ex.project, obj.function.file, plainly=True)
    return obj.kind in (ObjectKind.BOUND, ObjectKind.CALLER) and (not obj.name or obj.name in _PLAIN_EVENTS)


# --- functions and classes as values


def function_value(ex: Execution, node: FunctionNode) -> Value:
    """A function that is defined here: it sees the names of the frame."""
    obj = ex.heap.of("function", node, ex.context, kind=ObjectKind.FUNCTION)
    obj.function, obj.frame = ex.frame.file.function_of[node], ex.frame
    for name in obj.function.names if ex.loop_variables else ():
        lost_updates.captured(ex, (ex.frame.id, name))
    return ex.thing(obj)


def plain_function(ex: Execution, function: Function) -> Value:
    """A function of a file's top level, with its decorators."""
    value = ex.thing(method_object(ex, function))
    for decorator in reversed(function.decorators):
        value = decorated(ex, value, decorator, function.node, file_frame=function)
    return value


def method_object(ex: Execution, function: Function) -> Obj:
    obj = ex.heap.of("function", function.node, kind=ObjectKind.FUNCTION)
    obj.function = function
    return obj


def class_value(ex: Execution, cls: Class) -> Value:
    obj = ex.heap.of("class", cls.node, kind=ObjectKind.CLASS)
    obj.cls = cls
    return ex.thing(obj)


def decorator_act(ex: Execution, decorator: ast.expr, function: Function) -> Act | None:
    """What the tables say of a decorator."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    parts: list[str] = []
    while isinstance(called, ast.Attribute):
        parts.append(called.attr)
        called = called.value
    if not isinstance(called, ast.Name):
        return None
    value = expressions.global_name(ex, function.file, called.id)
    names = [one.name for one in value.objects if one.kind is ObjectKind.EXTERNAL]
    row = row_of(".".join([names[0], *reversed(parts)])) if names else None
    return row.act if row is not None else None


def is_property(ex: Execution, function: Function) -> bool:
    return any(decorator_act(ex, one, function) is Act.PROPERTY for one in function.decorators)


def decorated(
    ex: Execution, value: Value, decorator: ast.expr, node: ast.AST, *, file_frame: Function | None = None
) -> Value:
    """A function behind one of its decorators."""
    (obj,) = value.objects if len(value.objects) == 1 else (None,)
    function = file_frame or (obj.function if obj is not None else None)
    act = decorator_act(ex, decorator, function) if function is not None else None
    if act is Act.NO_GRAD and obj is not None:
        obj.no_grad = True
        return value
    if act is not None:
        return value
    if file_frame is not None:
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        if not isinstance(name, ast.Name):
            return value
        maker = expressions.global_name(ex, file_frame.file, name.id)
        if isinstance(decorator, ast.Call):
            return value
    else:
        maker = expressions.evaluate(ex, decorator)
    if any(one.kind is ObjectKind.FUNCTION for one in maker.objects):
        return call(ex, maker, [value], {}, node)
    return value


# --- calls


def call_expression(ex: Execution, node: ast.Call) -> Value:
    called = node.func
    if isinstance(called, ast.Attribute):
        if isinstance(called.value, ast.Call) and _is_super(ex, called.value):
            positional, keywords = arguments(ex, node)
            return super_method(ex, called.attr, positional, keywords, node)
        receiver = expressions.evaluate(ex, called.value)
        positional, keywords = arguments(ex, node)
        ex.calling = node
        return call_method(ex, receiver, called.attr, positional, keywords, node)
    function = expressions.evaluate(ex, called)
    positional, keywords = arguments(ex, node)
    ex.calling = node
    return call(ex, function, positional, keywords, node)


def _is_super(ex: Execution, node: ast.Call) -> bool:
    row = row_of(expressions.qualified_name(ex, node.func))
    return row is not None and row.act is Act.SUPER


def arguments(ex: Execution, node: ast.Call) -> tuple[list[Value], Keywords]:
    positional: list[Value] = []
    for argument in node.args:
        value = expressions.evaluate(ex, argument)
        if isinstance(argument, ast.Starred):
            known = containers.places(ex, value)
            positional += known if known is not None else [containers.element(ex, value, argument)]
        else:
            positional.append(value)
    keywords: Keywords = {}
    for keyword in node.keywords:
        value = expressions.evaluate(ex, keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
            continue
        known_names = _known_keywords(ex, value)
        keywords |= known_names if known_names is not None else {REST: value}
    return positional, keywords


def _known_keywords(ex: Execution, value: Value) -> Keywords | None:
    """The keywords of `**options` where every key is in sight."""
    if len(value.objects) != 1 or not value.exact:
        return None
    (obj,) = value.objects
    if obj.kind is not ObjectKind.CONTAINER:
        return None
    named: Keywords = {}
    for (_, place), held in ex.store.fields(obj):
        if isinstance(place, tuple) and isinstance(place[1], str):
            named[place[1]] = held
    return named or None


def call(ex: Execution, function: Value, positional: Arguments, keywords: Keywords, node: ast.AST) -> Value:
    targets = sorted(one for one in function.objects if one.kind is not ObjectKind.NONE)
    if len(targets) == 1 and (function.exact or targets[0].given):
        found = call_object(ex, targets[0], positional, keywords, node)
        return ranks.passed(ex, function, found, node, handed=bool(positional or keywords))
    networks = all(one.kind in (ObjectKind.MODULE, ObjectKind.CRITERION) for one in targets)
    if not targets or len(targets) > (_MOST_NETWORKS if networks else 3):
        return gradients.unknown_call(ex, None, positional, keywords, node)
    return _alternatives(ex, function, targets, node, lambda one: call_object(ex, one, positional, keywords, node))


def _alternatives(
    ex: Execution, chosen: Value, targets: list[Obj], node: ast.AST, run: Callable[[Obj], Value]
) -> Value:
    """One of several things is called: each in turn, from the same state. Which one it was is an answer of the path."""
    outs: list[State] = []
    found: Value | None = None
    values: dict[Obj, Value] = {}
    before = ex.here
    which = Asked("which", (chosen.id,))
    known = which in ex.tables.weighty
    for one in targets:
        level = ex.store.open()
        ex.path = before.copy()
        if known:
            ex.each_fact(answers.chosen, which, one.number)
            if ex.path.is_dead:
                ex.store.undo(level)
                continue
        entry = dict(ex.path.facts)
        try:
            value = run(one)
            if ex.path is not None:
                if ex.path.facts != entry:
                    ex.tables.weigh(which, node)
                    ex.tables.asked_of |= ex.identities.parts(chosen.id)
                outs.append(ex.capture(level))
                values[one] = value
                found = value if found is None else join(found, value, ex.identities.of("met", node, ex.context))
        except Unreachable:
            pass
        ex.store.undo(level)
    picked = chosen.picked
    if picked is not None and len(values) == 2 and found is not None:
        yes, no = ([values[one] for one in targets if one in side] for side in (picked.yes, picked.no))
        if len(yes) == 1 == len(no):
            found = join(yes[0], no[0], found.id, picked.test)
            kept = found.picked._replace(site=picked.site, text=picked.text) if found.picked is not None else None
            found = found._replace(picked=kept)
    ex.meet(outs, (node, ex.context, "m"))
    if ex.path is None or found is None:
        raise Unreachable
    return found


def call_object(ex: Execution, obj: Obj, positional: Arguments, keywords: Keywords, node: ast.AST) -> Value:
    kind = obj.kind
    if kind is ObjectKind.FUNCTION:
        return inline(ex, obj, positional, keywords, node, receiver=obj.receiver, cls=None)
    if kind is ObjectKind.CLASS:
        return instantiate(ex, obj, positional, keywords, node)
    if kind is ObjectKind.BOUND and obj.receiver is not None:
        return call_method(ex, obj.receiver, obj.name, positional, keywords, node)
    if kind is ObjectKind.EXTERNAL:
        obj.uses.add(python.CALL)
        return acts.call_external(ex, obj.name, positional, keywords, node)
    if kind in (ObjectKind.MODULE, ObjectKind.CRITERION, ObjectKind.ENGINE):
        return call_module(ex, obj, positional, keywords, node)
    if kind is ObjectKind.INSTANCE:
        return call_method(ex, ex.thing(obj), python.CALL, positional, keywords, node)
    if kind is ObjectKind.SCALER:
        return acts.call_scaler(ex, obj, positional, keywords, node)
    if kind is ObjectKind.CALLER and positional:
        return call_method(ex, positional[0], obj.name, positional[1:], keywords, node)
    if kind is ObjectKind.CONTEXT:  # a decorator such as torch.no_grad(), applied by hand
        for one in positional[0].objects if positional and obj.mode is Mode.OFF else ():
            one.no_grad = True
        return positional[0] if positional else ex.unknown(node)
    if kind is ObjectKind.GIVEN and obj.receiver is not None and acts.is_method(obj.name):
        return call_method(ex, obj.receiver, obj.name, positional, keywords, node)
    obj.uses.add(python.CALL)
    if is_imported(obj) and spelling.is_class(obj.name):
        return acts.construct(ex, positional, keywords, node)
    return gradients.unknown_call(ex, obj, positional, keywords, node)


# --- functions of the project


def inline(
    ex: Execution,
    obj: Obj,
    positional: Arguments,
    keywords: Keywords,
    node: ast.AST,
    *,
    receiver: Value | None = None,
    cls: Class | None = None,
    consuming: Callable[[Value], None] | None = None,
    running: bool = False,
) -> Value:
    """Execute a function of the project in the caller's place."""
    function = obj.function
    assert function is not None
    ex.entered.add(function)
    handed = [*([receiver] if receiver is not None else []), *positional]
    about = tuple(value.objects for value in handed)
    again = [frame for frame in ex.frames if frame.function is function]
    if len(ex.frames) > _DEEPEST or len(again) > 1 or any(frame.about == about for frame in again):
        return gradients.unknown_call(ex, None, handed, keywords, node, harmless=not names_events(ex, function))
    if function.generates and not running:
        return _generator(ex, obj, positional, keywords, node, receiver, cls)

    def run() -> Value:
        return _enter(ex, obj, function, handed, keywords, node, receiver, cls, consuming)

    if running or consuming is not None or function in acting_functions(ex.project, function.file, plainly=True):
        return run()
    may_act = names_events(ex, function)
    if ex.briefly:
        return gradients.unknown_call(ex, None, handed, keywords, node, harmless=not may_act)
    ex.quiet_calls = True
    return summaries.once(ex, function, obj.frame, handed, keywords, node, run, may_act=may_act)


def _enter(
    ex: Execution,
    obj: Obj,
    function: Function,
    handed: Arguments,
    keywords: Keywords,
    node: ast.AST,
    receiver: Value | None,
    cls: Class | None,
    consuming: Callable[[Value], None] | None,
) -> Value:
    context = ex.context.then(node)
    parent = obj.frame if isinstance(obj.frame, Frame) else None
    frame = Frame(context.frame(function.node), function.file, function, parent, context)
    frame.receiver, frame.cls = receiver, cls or function.cls
    frame.consumer, frame.called_at = consuming, node
    frame.about = tuple(value.objects for value in handed)
    frame.forwards = _is_forwarded(ex, function, receiver)
    frame.level = ex.store.open()
    ex.frames.append(frame)
    mode = ex.grad_mode
    if obj.no_grad:
        ex.grad_mode = Mode.OFF
    before = ex.here.copy()
    value: Value | None = None
    try:
        bind_parameters(ex, function.node, frame, handed, keywords)
        value = _run_body(ex, function, frame)
    except Unreachable:
        if not frame.unwritten:
            raise
    finally:
        ex.frames.pop()
        ex.grad_mode = mode
    if value is None:
        ex.path = before  # whoever writes it will return something
        positional = handed[1:] if receiver is not None else handed
        return gradients.unknown_call(ex, None, positional, keywords, node, receiver=receiver)
    return ex.picked_at(value, node) if isinstance(node, ast.expr) else value


def accepts(function: Function, count: int) -> bool:
    """Whether a function can be called with so many positional arguments, its receiver among them."""
    written = function.node.args
    most = len(written.posonlyargs) + len(written.args)
    asked = any(default is None for default in written.kw_defaults)
    return most - len(written.defaults) <= count and (count <= most or written.vararg is not None) and not asked


def may_be_called(method: Function, *, handed: bool) -> bool:
    """Whether a method can be called with something, or with nothing."""
    most = len(method.node.args.args) + 5
    return any(accepts(method, count) for count in (range(2, most) if handed else (1,)))


def _is_forwarded(ex: Execution, function: Function, receiver: Value | None) -> bool:
    """Whether what happens in a function happens at its call: an optimizer's own step, a function that only calls."""
    if receiver is None:
        return function.forwards
    if any(one.kind is ObjectKind.OPTIMIZER for one in receiver.objects):
        return True
    caller = ex.frame.receiver
    return function.forwards and (caller is None or caller.objects != receiver.objects)


def _run_body(ex: Execution, function: Function, frame: Frame) -> Value:
    node = function.node
    if isinstance(node, ast.Lambda):
        try:
            value = expressions.evaluate(ex, node.body)
            frame.returns.append((ex.capture(frame.level), value))
        except Unreachable:
            pass
    else:
        records, handlers, loops = len(ex.records), len(ex.handlers), len(ex.loops)
        statements.execute(ex, node.body)
        del ex.records[records:], ex.handlers[handlers:], ex.loops[loops:]
        if ex.path is not None:
            frame.returns.append((ex.capture(frame.level), ex.none))
    ex.store.undo(frame.level)
    states: list[State] = []
    found: Value | None = None
    for state, value in frame.returns:
        kept = state.changes
        if not function.captures:  # no one can see its names any more
            kept = {key: one for key, one in kept.items() if key[0] != frame.id}
        states.append(State(kept, state.path))
        test = _told_apart(frame) if len(states) == 2 else None
        found = value if found is None else join(found, value, ex.identities.of("returned", node, frame.context), test)
    ex.meet(states, ("returned", node, frame.context))
    if ex.path is None or found is None:
        raise Unreachable
    return found


def _told_apart(frame: Frame) -> Test | None:
    """The test that tells the first of two returns from the second."""
    if len(frame.returns) != 2 or not frame.conditions or is_always(frame.conditions[0]):
        return None
    first, *others = frame.conditions
    return first if all(is_always(one) or one == negate(first) for one in others) else None


def bind_parameters(
    ex: Execution, node: FunctionNode, frame: Frame, given: Sequence[Value], keywords: Keywords
) -> None:
    """What each parameter holds. A root's own are symbols, whatever their defaults: nobody knows what it is given."""
    written, store = node.args, ex.store
    names = [one.arg for one in (*written.posonlyargs, *written.args)]
    defaults = dict(zip(names[len(names) - len(written.defaults) :], written.defaults, strict=True))
    is_root = ex.symbolic and len(ex.frames) == 2
    for name, value in zip(names, given, strict=False):
        store.put((frame.id, name), value)
    pairs: list[tuple[str, ast.expr | None]] = [(name, defaults.get(name)) for name in names[len(given) :]]
    pairs += [(one.arg, default) for one, default in zip(written.kwonlyargs, written.kw_defaults, strict=True)]
    for name, default in pairs:
        if name in keywords:
            store.put((frame.id, name), keywords[name])
        elif default is not None and not is_root:
            store.put((frame.id, name), _default(ex, default, frame))
        else:
            symbol = ex.given("parameter", node, name, frame.context, name=name)
            passing.begin(ex, symbol.id)  # each call is handed its own
            plain = isinstance(default, ast.Constant) and default.value is not None
            if isinstance(default, ast.Constant) and type(default.value) is int:
                ex.unless_told[symbol.id] = default.value
            if isinstance(default, ast.Constant):
                ex.by_default[symbol.id] = default.value
            store.put((frame.id, name), Value(symbol.id, exact=False) if plain else symbol)
    if written.vararg is not None:
        rest = containers.new(ex, node, "rest")
        containers.fill(ex, rest, list(given[len(names) :]), exactly=not is_root)
        store.put((frame.id, written.vararg.arg), ex.thing(rest))
    if written.kwarg is not None:
        known = {name for name, _ in pairs} | set(names)
        others = {name: value for name, value in keywords.items() if name not in known}
        if others and REST not in others:
            options = containers.new(ex, node, "options", shape=Shape.DICT)
            for name, value in others.items():
                containers.put_item(ex, options, ex.constant(name), value)
            store.put((frame.id, written.kwarg.arg), ex.thing(options))
        else:
            store.put((frame.id, written.kwarg.arg), others.get(REST) or ex.given("options", node, frame.context))


def _default(ex: Execution, default: ast.expr, frame: Frame) -> Value:
    if isinstance(default, (ast.Constant, ast.Name, ast.Attribute)):
        return expressions.evaluate(ex, default)
    return ex.given("default", default)


# --- generators


def _generator(
    ex: Execution,
    obj: Obj,
    positional: Arguments,
    keywords: Keywords,
    node: ast.AST,
    receiver: Value | None,
    cls: Class | None,
) -> Value:
    generator = ex.heap.of("generator", node, ex.context, kind=ObjectKind.GENERATOR)
    generator.function, generator.frame = obj.function, obj.frame
    generator.receiver, generator.cls = receiver, cls
    handed = ex.heap.of("handed", node, ex.context, kind=ObjectKind.CONTAINER)
    containers.fill(ex, handed, positional)
    for name, value in keywords.items():
        ex.store.put((handed, name), value)
    generator.source, generator.context = handed, (node, tuple(keywords))
    return ex.thing(generator)._replace(iterators=iterators.new(ex, node))


def consume(ex: Execution, generator: Obj, body: Callable[[Value], None]) -> Value:
    """Run a generator, with the block of whoever iterates in the place of each of its yields."""
    here = list(ex.frames)

    def consumer(value: Value) -> None:
        there, ex.frames = ex.frames, list(here)
        try:
            body(value)
        finally:
            ex.frames = there

    return _run_generator(ex, generator, consumer)


def run_generator(ex: Execution, generator: Obj) -> Value:
    """What a generator yields."""
    return _run_generator(ex, generator, None)


def _run_generator(ex: Execution, generator: Obj, consumer: Callable[[Value], None] | None) -> Value:
    handed, kept = generator.source, generator.context
    assert handed is not None
    assert isinstance(kept, tuple)
    node, names = kept
    positional = containers.places(ex, ex.thing(handed)) or []
    keywords = {name: value for name in names if (value := ex.store.get((handed, name))) is not None}
    function = ex.heap.of("generated", generator, kind=ObjectKind.FUNCTION)
    function.function, function.frame = generator.function, generator.frame
    return inline(
        ex,
        function,
        positional,
        keywords,
        node,
        receiver=generator.receiver,
        cls=generator.cls,
        consuming=consumer,
        running=True,
    )


# --- methods and instances


def call_method(
    ex: Execution, receiver: Value, name: str, positional: Arguments, keywords: Keywords, node: ast.AST
) -> Value:
    """receiver.name(...)"""
    targets = sorted(
        one
        for one in receiver.objects
        if one.kind is not ObjectKind.NONE and not (one.kind is ObjectKind.BOUND and receiver.graph)
    )
    if not targets or (
        receiver.graph is Graph.LIVE
        and all(one.kind is ObjectKind.CONTAINER for one in targets)
        and container_method(name) is None
    ):
        return acts.call_tensor(ex, receiver, name, positional, keywords, node)
    if attributes.is_inner(targets, name):
        return call(ex, attributes.read(ex, receiver, name, node), positional, keywords, node)
    several = len(targets) > 1 and not _are_of_one(targets)
    if several and len(targets) < 5 and any(one.kind in (ObjectKind.INSTANCE, ObjectKind.SCALER) for one in targets):
        return _alternatives(
            ex,
            receiver,
            targets,
            node,
            lambda one: _method_of(
                ex, one, receiver._replace(objects=frozenset({one})), name, positional, keywords, node, weak=False
            ),
        )
    found: Value | None = None
    optimizers = [one for one in targets if one.kind is ObjectKind.OPTIMIZER]
    with gradients.alternatives(ex, optimizers) if optimizers else _NONE_OF_THEM as alternative:
        for one in targets:
            weak = (several or one.many) and one not in ex.each
            if one.kind is ObjectKind.OPTIMIZER and several:
                weak = not alternative(one) and one not in ex.each
            value = _method_of(ex, one, receiver, name, positional, keywords, node, weak=weak)
            found = value if found is None else join(found, value, ex.identities.of("met", node, ex.context))
    assert found is not None
    return ranks.passed(ex, receiver, found, node, handed=bool(positional or keywords))


def _are_of_one(targets: list[Obj]) -> bool:
    """Whether these are schedules of the same optimizers: whichever it is, it does the same to them."""
    first = targets[0].optimizers
    return bool(first) and all(one.kind is ObjectKind.SCHEDULER and one.optimizers == first for one in targets)


def _method_of(
    ex: Execution,
    obj: Obj,
    receiver: Value,
    name: str,
    positional: Arguments,
    keywords: Keywords,
    node: ast.AST,
    *,
    weak: bool,
) -> Value:
    stored = ex.store.get((obj, name))
    if stored is not None and obj.kind is not ObjectKind.EXTERNAL:
        if is_none(stored):  # whoever calls it has put something there
            gradients.doubt_all(ex)
        return call(ex, stored, positional, keywords, node)
    if obj.cls is not None:
        method = ex.classes.of(obj.cls).methods.get(name)
        if method is not None and not (obj.kind is ObjectKind.MODULE and name in (python.FORWARD, python.CALL)):
            me = receiver if obj.given else ex.thing(obj)
            row = optimizer_method(name)
            by_hand = row is not None and row.act is Act.STEPS and name not in method.called
            by_hand = by_hand and _GRADIENT in method.attributes
            if obj.kind is ObjectKind.OPTIMIZER and by_hand:
                gradients.consume(ex, obj, node, weak=weak)  # an optimizer of the project that updates by itself
            return call_project_method(ex, obj, me, method, positional, keywords, node)
        if not name and not _may_act(ex, obj.cls, 1 + len(positional) + len(keywords)):
            return gradients.unknown_call(ex, None, positional, keywords, node)
    if obj.kind is ObjectKind.BOUND:
        return ex.unknown(node)
    if obj.kind is ObjectKind.EXTERNAL:
        obj.uses.add(f"{name}(x)" if positional else f"{name}()")
        return acts.call_external(ex, f"{obj.name}.{name}", positional, keywords, node)
    if obj.kind is ObjectKind.FILE and obj.file is not None:
        found = ex.store.get((statements.module_frame(obj.file), name)) or expressions.defined(
            ex, ex.project.definition(obj.file, name), f"{obj.file.path}.{name}"
        )
        return call(ex, found, positional, keywords, node)
    return acts.call_known(ex, obj, receiver, name, positional, keywords, node, weak=weak)


def _may_act(ex: Execution, cls: Class, count: int) -> bool:
    """Whether one of a class's methods, which can be called with so much, may do something to gradients."""
    known = ex.classes.of(cls)
    acting = [one for one in known.methods.values() if accepts(one, count) and names_events(ex, one)]
    return bool(acting) or bool(known.outside)


def call_project_method(
    ex: Execution, obj: Obj, me: Value, method: Function, positional: Arguments, keywords: Keywords, node: ast.AST
) -> Value:
    function = method_object(ex, method)
    kinds = [decorator_act(ex, one, method) for one in method.decorators]
    function.no_grad = Act.NO_GRAD in kinds
    static = Act.STATIC in kinds or (obj.kind is ObjectKind.CLASS and Act.CLASS_METHOD not in kinds)
    wrapped = ex.thing(function)
    for decorator in reversed(method.decorators):
        wrapped = decorated(ex, wrapped, decorator, node, file_frame=method)
    if wrapped.objects != frozenset({function}):
        return call(ex, wrapped, [*([] if static else [me]), *positional], keywords, node)
    return inline(ex, function, positional, keywords, node, receiver=None if static else me, cls=method.cls)


def super_method(ex: Execution, name: str, positional: Arguments, keywords: Keywords, node: ast.AST) -> Value:
    """super().name(...): of the nearest class above, in the project or outside."""
    cls, me = ex.frame.cls, ex.frame.receiver
    if cls is None or me is None:
        return ex.unknown(node)
    for base in ex.classes.of(cls).inherited[1:]:
        method = base.methods.get(name)
        if method is not None:
            function = method_object(ex, method)
            return inline(ex, function, positional, keywords, node, receiver=me, cls=base)
    for obj in sorted(me.objects):
        if name == python.INIT:
            if obj.kind is ObjectKind.OPTIMIZER and positional:
                iterators.read(ex, positional[0], node, by=gradients.wording(node))
                obj.held = gradients.regions_of(ex, positional[0]) or obj.held
            elif obj.kind is ObjectKind.MODULE:
                for value in positional:
                    for one in value.objects:
                        if one.kind is ObjectKind.MODULE and one is not obj:
                            obj.children.add(one)
                        elif one.kind is ObjectKind.GIVEN:
                            obj.taken.add(one)
            return ex.none
        return acts.call_known(ex, obj, me, name, positional, keywords, node, weak=False)
    return ex.none


def instantiate(ex: Execution, obj: Obj, positional: Arguments, keywords: Keywords, node: ast.AST) -> Value:
    cls = obj.cls
    assert cls is not None
    known = ex.classes.of(cls)
    made = ex.heap.of("instance", cls.node, node, ex.context, kind=kind_of_class(ex, cls, obj))
    made.cls, made.born, made.context = cls, tuple(ex.loops), ex.context
    made.kind = kind_of_class(ex, cls, obj)
    me = ex.thing(made)
    if made.kind is ObjectKind.MODULE:
        ex.begin_anew(reach(made))
    if made.kind is ObjectKind.OPTIMIZER:
        held: frozenset[Obj] = frozenset()
        for value in (*positional, *keywords.values()):
            held |= gradients.regions_of(ex, value)
        made.held = held
        gradients.renew(ex, made)
        replacing.renewed(ex, made, node)
    elif made.kind is ObjectKind.SCHEDULER:
        made.optimizers |= {
            one
            for value in (*positional, *keywords.values())
            for one in value.objects
            if one.kind is ObjectKind.OPTIMIZER
        }
        made.off = not _MOVES.isdisjoint(known.methods)  # a step of its own may move what it likes
    init = known.methods.get(python.INIT)
    if init is not None:
        for key, _ in ex.store.fields(made):
            ex.store.drop(key)
        inline(ex, method_object(ex, init), positional, keywords, node, receiver=me, cls=init.cls)
    else:
        _take_fields(ex, made, cls, positional, keywords, node)
        last = known.methods.get(python.POST_INIT)
        if last is not None:
            inline(ex, method_object(ex, last), [], {}, node, receiver=me, cls=last.cls)
    return me


def _take_fields(
    ex: Execution, made: Obj, cls: Class, positional: Arguments, keywords: Keywords, node: ast.AST
) -> None:
    """A dataclass or a named tuple: its fields, in order."""
    fields = [
        one.target.id for one in cls.node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    ]
    if not fields and made.kind is ObjectKind.MODULE:
        for value in positional:
            for one in value.objects:
                if one.kind is ObjectKind.MODULE and one is not made:
                    made.children.add(one)
                elif one.kind is ObjectKind.GIVEN:
                    made.taken.add(one)
    for name in fields if REST in keywords else ():  # nobody knows which of them it is told
        ex.store.put((made, name), ex.given("field", name, node, ex.context, name=name))
    for name, value in zip(fields, positional, strict=False):
        ex.store.put((made, name), value)
    for name, value in keywords.items():
        if name in fields:
            ex.store.put((made, name), value)
    for index, value in enumerate(positional[: len(fields)]):
        ex.store.put((made, containers.at(index)), value)


def kind_of_class(ex: Execution, cls: Class, obj: Obj | None = None) -> ObjectKind:
    """What the instances of a class are, by what it inherits from outside."""
    bases = list(ex.classes.of(cls).outside)
    for base in cls.node.bases:  # a class made in a function: its base may be a value
        if isinstance(base, ast.Name) and obj is not None and isinstance(obj.frame, Frame):
            held = ex.store.get((obj.frame.id, base.id))
            bases += [one.name for one in held.objects if one.kind is ObjectKind.EXTERNAL] if held is not None else []
    for name in bases:
        row = row_of(name)
        if row is not None and row.act is Act.OPTIMIZER:
            return ObjectKind.OPTIMIZER
        if row is not None and row.act in (Act.SCHEDULER, Act.PLATEAU):
            return ObjectKind.SCHEDULER
        if row is not None and row.act is Act.SCALER:
            return ObjectKind.INSTANCE
        if (row is not None and row.act is Act.NOTHING) or is_of_autograd(name):
            continue
        if is_module_base(name):
            return ObjectKind.MODULE
    return ObjectKind.INSTANCE


# --- networks


def call_module(ex: Execution, obj: Obj, positional: Arguments, keywords: Keywords, node: ast.AST) -> Value:
    """A forward pass."""
    values = [held for value in (*positional, *keywords.values()) for held in containers.deep(ex, value)]
    identity = ex.fresh(node)
    if obj.kind is ObjectKind.CRITERION:
        gradients.note_loss(ex)
        made = graphs.tensor(ex, values, identity)._replace(reduction=obj.reduction)
        ex.computed[ex.site(node)] = made
        return made
    obj.uses.add(python.CALL)
    ex.tables.ran.setdefault(obj, set()).update(ex.loops)
    if _has_no_parameters(ex, obj):
        bare = _forward(ex, obj, positional, keywords, node)
        computed = graphs.tensor(ex, values, identity)
        return bare._replace(through=bare.through | computed.through) if bare is not None else computed
    if obj.off or gradients.is_frozen(ex, obj):
        outer = graphs.tensor(ex, values, identity)
    else:
        others = frozenset(one for value in values for one in value.objects if one.kind is ObjectKind.MODULE)
        outer = graphs.tensor(ex, values, identity, live=True, made_of=others | {obj}, sure=frozenset({obj}))
        makers = frozenset(one for value in values if value.graph >= Graph.LIVE for one in value.made_of)
        makers = frozenset(one for one in makers if one.kind not in (ObjectKind.ANYTHING, ObjectKind.LEAF))
        pairs: set[Applied] = {(one, obj) for one in makers} or {(None, obj)}
        in_sight = obj.cls is None and not obj.given
        outer = outer._replace(applied=outer.applied | pairs, output_of=obj if in_sight else None)
    passing.enter(ex, values, node)
    inner = _forward(ex, obj, positional, keywords, node)
    if inner is not None and inner.graph >= Graph.LIVE:
        outer = outer._replace(through=outer.through | inner.through)
    if _keeps_graphs(ex, obj):
        outer = outer._replace(through=outer.through | {ex.identities.of("kept by", obj)})
    if ex.tables.hooks:
        _run_hooks(ex, obj, outer, node, parts=inner is None)
    return outer if inner is None else _stamped(ex, inner, outer, node, obj)


def _keeps_graphs(ex: Execution, obj: Obj) -> bool:
    """Whether a network keeps something of what it computes: the next pass may go on from there."""
    return obj.cls is not None and any(value.graph is Graph.LIVE and value.through for _, value in ex.store.fields(obj))


def _run_hooks(ex: Execution, obj: Obj, outer: Value, node: ast.AST, *, parts: bool) -> None:
    """What is called with what a network computes, and with what its parts do, which nobody sees at work."""
    for part in sorted(reach(obj) if parts else {obj}):
        function = ex.tables.hooks.get(part)
        if function is not None and all(one.kind is ObjectKind.FUNCTION for one in function.objects):
            identity = ex.identities.of("hooked", part, made_of=(outer.id,))
            said = outer._replace(id=identity, made_of=frozenset({part}), sure=frozenset({part}))
            call(ex, function, [ex.thing(part), ex.unknown(node, "given to a part"), said], {}, node)


def _has_no_parameters(ex: Execution, obj: Obj) -> bool:
    """Whether a module of the project has neither parts nor parameters: a loss, an activation."""
    if obj.cls is None or obj.given or obj.kind is not ObjectKind.MODULE or obj.uses & _ASKED_FOR_PARAMETERS:
        return False
    plain = all(row_of(base) == row_of("torch.nn.Module") for base in ex.classes.of(obj.cls).outside)
    return plain and all(one.off for one in obj.children)


def _forward(ex: Execution, obj: Obj, positional: Arguments, keywords: Keywords, node: ast.AST) -> Value | None:
    """What the network's own forward() returns, executed once for each mode and then remembered."""
    if obj.cls is None or ex.forwards > 2:
        return None
    method = ex.classes.of(obj.cls).methods.get(python.FORWARD)
    if method is None or method in ex.too_long:
        return None
    graphs = tuple(value.graph for value in positional)
    key: Hashable = (obj, ex.grad_mode, graphs, tuple(sorted(keywords)))
    if key in ex.results:
        known, fields = ex.results[key]
        for field, held in fields.items():  # where it was executed first, they may have been undone, or written since
            ex.store.put(field, held)
        return known
    before, level, moves = ex.here.copy(), ex.store.open(), ex.moves
    stacks = len(ex.frames), len(ex.records), len(ex.handlers), len(ex.loops)
    ex.moves = min(_FORWARD_MOVES, moves)
    allowed = ex.moves
    ex.forwards += 1
    found: Value | None = None
    written: dict[Key, Value] = {}
    try:
        function = method_object(ex, method)
        found = inline(ex, function, positional, keywords, node, receiver=ex.thing(obj), cls=method.cls)
        changed = ex.store.changes(level).items()
        written = {key: value for key, value in changed if value is not None and isinstance(key[0], Obj)}
        ex.store.commit(level)
    except (Exhausted, Unreachable) as stopped:
        if isinstance(stopped, Exhausted):
            if moves <= allowed:
                raise
            ex.too_long.add(method)
        ex.store.undo(level)
        ex.path = before
        del ex.frames[stacks[0] :], ex.records[stacks[1] :], ex.handlers[stacks[2] :], ex.loops[stacks[3] :]
    finally:
        ex.forwards -= 1
        ex.moves = moves - (allowed - max(ex.moves, 0))
    ex.results[key] = (found, {**written, **(fields_of(ex, found) if found is not None else {})})
    return found


def fields_of(ex: Execution, value: Value, depth: int = 0) -> dict[Key, Value]:
    """What the containers of a value hold."""
    fields: dict[Key, Value] = {}
    for obj in value.objects:
        if obj.kind is ObjectKind.CONTAINER and depth < 3:
            for key, held in ex.store.fields(obj):
                fields[key] = held
                fields |= fields_of(ex, held, depth + 1)
    return fields


def _stamped(ex: Execution, inner: Value, outer: Value, node: ast.AST, obj: Obj) -> Value:
    """The result of a forward pass, with the network as its maker."""
    held = [one for one in inner.objects if one.kind is ObjectKind.CONTAINER]
    if len(held) == 1 == len(inner.objects) and inner.exact:
        (source,) = held
        copy = ex.heap.of("stamped", node, ex.context, kind=ObjectKind.CONTAINER)
        copy.shape = source.shape
        for (_, name), value in ex.store.fields(source):
            ex.store.put((copy, name), _stamp(ex, value, outer))
        if inner.graph is not Graph.NONE:
            return outer._replace(objects=frozenset({copy}), exact=False, reduction=inner.reduction)
        return Value(outer.id, frozenset({copy}))
    if inner.graph is Graph.LIVE and not inner.objects:
        if not inner.reduction:  # forward() computes no loss
            outer = outer._replace(output_of=obj)
        parts = outer.made_of | inner.made_of
        return outer._replace(reduction=inner.reduction, made_of=parts, sure=outer.sure | inner.sure)
    if inner.graph >= Graph.LIVE:
        graph = Graph.ANY if inner.graph is Graph.ANY and not inner.objects else outer.graph
        return outer._replace(made_of=outer.made_of | inner.made_of, graph=graph)
    if is_none(inner) or inner.constant is not None:
        return inner
    return outer


def _stamp(ex: Execution, value: Value, outer: Value) -> Value:
    if ex.grad_mode is Mode.OFF:
        return value._replace(graph=min(value.graph, Graph.CUT))
    if value.graph >= Graph.LIVE:
        made_of, sure, through = outer.made_of | value.made_of, outer.sure | value.sure, outer.through | value.through
        return value._replace(graph=outer.graph, made_of=made_of, sure=sure, through=through)
    if value.graph is Graph.CUT:
        return value._replace(graph=Graph.ANY, made_of=outer.made_of, through=outer.through)
    return value
