"""Statements, one by one."""

import ast
from collections.abc import Callable, Hashable, Sequence

from zerograd.core.events import Kind
from zerograd.core.facts import doubt, join
from zerograd.core.machine import Content
from zerograd.source.effects.lookup import row_of
from zerograd.source.effects.rows import Act
from zerograd.source.execute import (
    acts,
    attributes,
    branches,
    calls,
    clipping,
    containers,
    expressions,
    gradients,
    graphs,
    keeping,
    loops,
    lost_updates,
    replacing,
    replaying,
    updates,
)
from zerograd.source.execute.execution import Execution, Frame, Guard, Handler, Unreachable
from zerograd.source.execute.paths import State
from zerograd.source.execute.walked import Why
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import YES, Asked, Known, Test, both, negate
from zerograd.source.heap.objects import ObjectKind
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import Value
from zerograd.source.project.index import File


def execute(ex: Execution, body: Sequence[ast.stmt]) -> None:
    """A block, up to where no path goes on."""
    opened, jumping = 0, ex.frame.file.jumping
    for statement in body:
        if ex.path is None:
            break
        ex.spend()
        ex.frame.updated = ex.updated
        ex.visited.add(statement)
        try:
            carry_out = _STATEMENTS.get(type(statement))
            if carry_out is None:
                continue
            if type(statement) in _REPLAYED:
                replaying.replay_or(ex, statement, carry_out)
            else:
                carry_out(ex, statement)
        except Unreachable:
            ex.path = None
        if ex.path is not None and ex.path.is_dead:
            ex.path = None
        if statement in jumping or (ex.loops and isinstance(statement, ast.If)):
            ex.records.append(ex.branch(statement, "rest"))
            opened += 1
    if opened:
        del ex.records[-opened:]


# --- names


_NAMED = (ObjectKind.MODULE, ObjectKind.LEAF, ObjectKind.GIVEN)


def _expression(ex: Execution, node: ast.Expr) -> None:
    ex.dropped = node.value.value if isinstance(node.value, ast.Await) else node.value
    clipping.dropped(ex, expressions.evaluate(ex, node.value))


def _assign(ex: Execution, node: ast.Assign) -> None:
    value = expressions.evaluate(ex, node.value)
    for target in node.targets:
        bind(ex, target, value, node)


def _annotated(ex: Execution, node: ast.AnnAssign) -> None:
    if node.value is not None:
        bind(ex, node.target, expressions.evaluate(ex, node.value), node)


def _augmented(ex: Execution, node: ast.AugAssign) -> None:
    old = expressions.evaluate(ex, expressions.as_load(node.target))
    _note_unset(ex, node.target, old)
    new = expressions.evaluate(ex, node.value)
    held = [one for one in old.objects if one.kind is ObjectKind.CONTAINER]
    if held and isinstance(node.op, ast.Add):
        for one in held:
            containers.grow(ex, one, containers.element(ex, new, node))
        bind(ex, node.target, old, node)
        return
    if any(one.kind in (ObjectKind.GRADIENT, ObjectKind.PARAMETER, ObjectKind.LEAF) for one in old.objects):
        gradients.changed_in_place(ex, old, new, node)
        return
    bind(ex, node.target, expressions.combine(ex, node, node.op, old, new), node)


def _note_unset(ex: Execution, target: ast.expr, old: Value) -> None:
    """A field of what was given is changed, and nobody has set it: a loop finds it at its head all the same."""
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, (ast.Name, ast.Attribute)):
        return
    for obj in expressions.evaluate(ex, target.value).objects:
        if obj.kind is ObjectKind.GIVEN and ex.store.get((obj, target.attr)) is None:
            ex.tables.unset.setdefault((obj, target.attr), old)


def _delete(ex: Execution, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            ex.store.drop((ex.frame.id, target.id))
        elif isinstance(target, ast.Attribute):
            attributes.write(ex, expressions.evaluate(ex, target.value), target.attr, ex.none, node, deleted=True)
        elif isinstance(target, ast.Subscript):
            for one in expressions.evaluate(ex, target.value).objects:
                keeping.empty(ex, one)


def scope_of(ex: Execution, name: str) -> Key:
    """Where a name is written."""
    frame = ex.frame
    if name in frame.global_names:
        return (module_frame(frame.file), name)
    if name in frame.outer_names:
        outer: Frame | None = frame.parent
        while outer is not None:
            if ex.store.get((outer.id, name)) is not None:
                return (outer.id, name)
            outer = outer.parent
    return (frame.id, name)


def module_frame(file: File) -> File:
    """What stands for the names of a file's top level."""
    return file


def put(ex: Execution, key: Key, value: Value) -> None:
    """Write a name. Of one that holds yes or no in a loop, which of them it is becomes an answer of the path."""
    if key in ex.tables.flags and value.constant is not None and isinstance(value.constant.value, bool):
        value = loops.as_flag(ex, key, value.constant.value)
    ex.store.put(key, value)


def bind(ex: Execution, target: ast.expr, value: Value, node: ast.AST) -> None:
    for obj in value.objects:
        if obj.kind is ObjectKind.OPTIMIZER and not obj.name and isinstance(target, (ast.Name, ast.Attribute)):
            obj.name = ast.unparse(target)  # for the sentences of findings alone
        elif obj.kind in _NAMED and obj not in ex.named and isinstance(target, (ast.Name, ast.Attribute)):
            ex.named[obj] = ast.unparse(target)
    if isinstance(target, ast.Name):
        key = scope_of(ex, target.id)
        replacing.bound(ex, key, value, node, target)
        lost_updates.bound(ex, key, target, value, node)
        put(ex, key, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        starred = [index for index, one in enumerate(target.elts) if isinstance(one, ast.Starred)]
        for index, one in enumerate(target.elts):
            if isinstance(one, ast.Starred):
                bind(ex, one.value, containers.rest(ex, value, index, one), node)
            else:
                behind = bool(starred) and index > starred[0]
                bind(ex, one, containers.item(ex, value, None if behind else index, one), node)
    elif isinstance(target, ast.Attribute):
        owner = expressions.evaluate(ex, target.value)
        attributes.write(ex, owner, target.attr, value, node)
        if attributes.is_told_to_learn(owner, target.attr, value):
            acts.ask_gradient(ex, owner, target.value, node)
    elif isinstance(target, ast.Subscript):
        base, index_value = expressions.evaluate(ex, target.value), expressions.evaluate(ex, target.slice)
        containers.write(ex, base, index_value, value, node)
        for obj in sorted(base.objects):
            if obj.kind is ObjectKind.GRADIENT:
                gradients.written_into(ex, obj, value, node, whole=_is_whole(target.slice))
        updates.update(ex, base, [value], node, target)
        filled = value.graph > base.graph and not base.objects
        if filled and isinstance(target.value, (ast.Name, ast.Attribute)):
            whole = graphs.tensor(ex, [base, value], base.id)
            bind(ex, target.value, keeping.write(ex, node, base, value, whole), node)
    elif isinstance(target, ast.Starred):
        bind(ex, target.value, value, node)


def _is_whole(index: ast.expr) -> bool:
    """x[:] and x[...] are all of x."""
    if isinstance(index, ast.Slice):
        return index.lower is None and index.upper is None and index.step is None
    return isinstance(index, ast.Constant) and index.value is Ellipsis


# --- definitions


def _function(ex: Execution, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    value = calls.function_value(ex, node)
    for decorator in reversed(node.decorator_list):
        value = calls.decorated(ex, value, decorator, node)
    ex.store.put((ex.frame.id, node.name), value)


def _class(ex: Execution, node: ast.ClassDef) -> None:
    cls = ex.frame.file.class_of[node]
    value = calls.class_value(ex, cls)
    for one in value.objects:
        one.frame = ex.frame
    ex.store.put((ex.frame.id, node.name), value)


def _import(ex: Execution, node: ast.Import) -> None:
    for name in node.names:
        module = name.name if name.asname else name.name.partition(".")[0]
        found = ex.project.imported(ex.frame.file, module, "")
        ex.store.put((ex.frame.id, name.asname or module), expressions.defined(ex, found, module))


def _import_from(ex: Execution, node: ast.ImportFrom) -> None:
    module = "." * node.level + (node.module or "")
    for name in node.names:
        if name.name != "*":
            found = ex.project.imported(ex.frame.file, module, name.name)
            dotted = f"{node.module}.{name.name}" if node.module else name.name
            ex.store.put((ex.frame.id, name.asname or name.name), expressions.defined(ex, found, dotted))


def _global(ex: Execution, node: ast.Global) -> None:
    ex.frame.global_names.update(node.names)


def _nonlocal(ex: Execution, node: ast.Nonlocal) -> None:
    ex.frame.outer_names.update(node.names)


# --- jumps


def _return(ex: Execution, node: ast.Return) -> None:
    value = expressions.evaluate(ex, node.value) if node.value is not None else ex.none
    ex.handed_back.setdefault(node, {})[ex.context] = value
    skip_rest(ex)
    gradients.give_up(ex, node)
    _finish(ex, 0)
    if ex.path is not None:
        ex.frame.returns.append((ex.capture(ex.frame.level), value))
        condition: Test = YES
        for guard in ex.frame.guards:
            condition = both(condition, guard.test if guard.yes else negate(guard.test))
        ex.frame.conditions.append(condition)
    raise Unreachable


def _raise(ex: Execution, node: ast.Raise) -> None:
    if node.exc is not None:
        expressions.evaluate(ex, node.exc)
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        row = row_of(expressions.qualified_name(ex, raised))
        if row is not None and row.act is Act.UNWRITTEN:
            ex.frame.unwritten = True
    if ex.handlers and ex.path is not None:
        ex.handlers[-1].raised.append(State(ex.store.changes(ex.handlers[-1].level), ex.here.copy()))
    raise Unreachable


def _break(ex: Execution, node: ast.Break) -> None:
    depth = len(ex.frame.loops)
    guards = [guard for guard in ex.frame.guards if guard.loops == depth]
    if ex.loops and (not guards or any(expressions.asks_tensor(ex, guard.test) for guard in guards)):
        ex.tables.add(ex.tables.retries, ex.loops[-1])  # with no test: it comes round only where something was raised
    skip_rest(ex)
    _finish(ex, depth)
    if ex.loops:
        ex.tables.add(ex.tables.broken, ex.loops[-1])
    if ex.frame.loops and ex.path is not None:
        loop = ex.frame.loops[-1]
        loop.breaks.append(ex.capture(loop.level))
    raise Unreachable


def _continue(ex: Execution, node: ast.Continue) -> None:
    skip_rest(ex)
    gradients.give_up(ex, node)
    _finish(ex, len(ex.frame.loops))
    if ex.frame.loops and ex.path is not None:
        loop = ex.frame.loops[-1]
        loop.continues.append(ex.capture(loop.level))
    raise Unreachable


def _finish(ex: Execution, loops_left: int) -> None:
    """Run what stands in `finally`, and the exits of contexts, between a jump and its target.

    Only this path leaves: whoever took another arm is still in the block.
    """
    frame = ex.frame
    kept, inside = list(frame.finals), (ex.grad_mode, ex.accumulating, ex.failing, list(ex.quiet))
    while frame.finals and frame.finals[-1][0] >= loops_left:
        _, final = frame.finals.pop()
        if ex.path is not None:
            final()
    frame.finals[:] = kept
    ex.grad_mode, ex.accumulating, ex.failing, ex.quiet = inside


def skip_rest(ex: Execution) -> None:
    """A jump out of a branch skips what stands behind it."""
    depth = len(ex.frame.loops)
    facts = ex.here.facts
    for guard in reversed(ex.frame.guards):
        if guard.loops != depth:
            break
        if branches.is_sure(ex, guard.test, yes=guard.yes):
            continue
        for slot, kinds in ex.tables.skipped(ex.branch(guard.node, "rest")).items():
            if slot in facts:
                ex.excuses.note(ex, slot, kinds, guard.node, Why.TEST)
                facts[slot] = doubt(facts[slot], kinds)


def _assert(ex: Execution, node: ast.Assert) -> None:
    test = expressions.truth(ex, expressions.evaluate(ex, node.test))
    branches.refuse(ex, test)
    if not ex.loops and len(ex.frames) <= 2 and expressions.asks_tensor(ex, test):
        ex.tables.examined = True
    _refuse_constant(ex, node.test)
    ex.path = branches.split(ex, test)[0]


def _refuse_constant(ex: Execution, test: ast.expr) -> None:
    """`assert STEPS == 1` of a constant: the program knows that its windows have one micro-batch."""
    if not isinstance(test, ast.Compare):
        return
    for operand in (test.left, *test.comparators):
        if isinstance(operand, (ast.Name, ast.Attribute)):
            value = expressions.evaluate(ex, operand)
            if value.constant is not None and value.constant.value == 1:
                ex.tables.add(ex.tables.refused, ex.identities.of("setting"))


# --- compound statements


def _with(ex: Execution, node: ast.With | ast.AsyncWith, first: int = 0) -> None:
    undone: list[Callable[[], None]] = []
    for number, item in enumerate(node.items[first:], first):
        value = expressions.evaluate(ex, item.context_expr)
        generators = [one for one in value.objects if one.kind is ObjectKind.GENERATOR]
        if len(generators) == 1 == len(value.objects) and value.exact:

            def body(handed: Value, item: ast.withitem = item, number: int = number) -> None:
                if item.optional_vars is not None:
                    bind(ex, item.optional_vars, handed, node)
                _with(ex, node, number + 1)

            calls.consume(ex, generators[0], body)
            break
        leave = gradients.enter(ex, value, item.context_expr)
        undone.append(leave)
        ex.frame.finals.append((len(ex.frame.loops), leave))
        if item.optional_vars is not None:
            bind(ex, item.optional_vars, gradients.entered(ex, value), node)
    else:
        execute(ex, node.body)
    for leave in reversed(undone):
        ex.frame.finals.pop()
        leave()


def _try(ex: Execution, node: ast.Try) -> None:
    identity = ex.fresh(node, "try")
    branch = ex.branch(node, "try")
    level = ex.store.open()
    handler = Handler(level, [ex.capture(level)._replace(path=ex.here.copy())])
    frame = ex.frame
    if node.finalbody:
        frame.finals.append((len(frame.loops), lambda: execute(ex, node.finalbody)))
    ex.records.append(branch)
    ex.handlers.append(handler)
    for statement in node.body:
        if ex.path is None:
            break
        execute(ex, [statement])
        if ex.path is not None:
            handler.raised.append(State(ex.store.changes(level), ex.here.copy()))
    ex.handlers.pop()
    ex.records.pop()
    if ex.path is not None and node.orelse:
        execute(ex, node.orelse)
    went_wrong = Asked("raised", (identity,))
    outs: list[State | None] = []
    if ex.path is not None:
        ex.each_fact(answers.assume, went_wrong, False, ex.tables.keeps)
        outs.append(ex.capture(level))
    ex.store.undo(level)
    branches.weigh(ex, went_wrong, node)
    for one in node.handlers:
        level = ex.store.open()
        ex.meet([State(dict(state.changes), state.path.copy()) for state in handler.raised], (node, ex.context, "r"))
        if ex.path is not None:
            _handle(ex, node, one, branch, went_wrong)
        if ex.path is not None:
            outs.append(ex.capture(level))
        ex.store.undo(level)
    if node.finalbody:
        frame.finals.pop()
    ex.meet(outs, (node, ex.context, "h"), negate(went_wrong))
    if node.finalbody and ex.path is not None:
        execute(ex, node.finalbody)


def _handle(ex: Execution, node: ast.Try, one: ast.ExceptHandler, branch: Hashable, went_wrong: Asked) -> None:
    ex.path = ex.here.copy()
    ex.each_fact(answers.assume, went_wrong, True, ex.tables.keeps)
    facts = ex.here.facts
    for slot, kinds in ex.tables.skipped(branch).items():
        if slot in facts:
            ex.excuses.note(ex, slot, kinds, one, Why.RAISED)
            facts[slot] = doubt(facts[slot], kinds)
    if one.name:
        ex.store.put((ex.frame.id, one.name), ex.unknown(one, "caught"))
    if ex.loops and expressions.may_catch_backward(one) and not _gives_in(ex, one):
        for slot, kinds in ex.tables.emitted.get(branch, {}).items():
            unread = frozenset(fact for fact in facts.get(slot, ()) if fact.state.content is Content.FRESH)
            if unread and {Kind.CONSUME, Kind.DEPOSIT} <= kinds:
                whole = facts[slot]
                facts[slot] = unread
                gradients.emit(ex, slot, Kind.ABANDON, one, what="except")
                facts[slot] = join(ex.here.facts[slot], whole - unread)
    ex.records.append(ex.branch(one, "h"))
    ex.frame.guards.append(Guard(went_wrong, True, node, len(ex.frame.loops), len(ex.loops)))
    execute(ex, one.body)
    ex.frame.guards.pop()
    ex.records.pop()


def _gives_in(ex: Execution, handler: ast.ExceptHandler) -> bool:
    """Whether a handler ends the loop or the program."""
    for statement in handler.body:
        if isinstance(statement, (ast.Raise, ast.Break)):
            return True
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            called = expressions.qualified_name(ex, statement.value.func)
            row = row_of(called) if called else None
            if row is not None and row.act is Act.ENDS:
                return True
    return False


def _if(ex: Execution, node: ast.If) -> None:
    ex.asks_gradient = False
    test = expressions.truth(ex, expressions.evaluate(ex, node.test))
    yes, no = branches.split(ex, test)
    if ex.asks_gradient and isinstance(test, Known) and test.answer and isinstance(node.body[-1], _JUMPS):
        # Who leaves where a gradient is there knows of times when there is none: both arms are taken.
        no = ex.here.copy()
    branches.take(ex, node, test, [(yes, node.body), (no, node.orelse)])


def _match(ex: Execution, node: ast.Match) -> None:
    subject = expressions.evaluate(ex, node.subject)
    test = Asked("match", (subject.id,))
    here = ex.here
    arms: list[tuple[object, list[ast.stmt]]] = [(here.copy(), case.body) for case in node.cases]
    branches.take(ex, node, test, [*arms, (here.copy(), [])])  # type: ignore[list-item]


_JUMPS = (ast.Return, ast.Continue, ast.Break, ast.Raise)
_REPLAYED = frozenset({ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.For, ast.With, ast.While})
_STATEMENTS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Assert: _assert,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.If: _if,
    ast.Match: _match,
    ast.For: loops.for_loop,
    ast.AsyncFor: loops.for_loop,
    ast.While: loops.while_loop,
}
