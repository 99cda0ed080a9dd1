"""What is executed, and in which order: the body of the file, then every function that nobody in sight has called.

[Note: roots] A function is judged from its callers, in this file or in others; what no caller reaches is judged with
symbols for its parameters, and only what stands there is reported.
"""

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, doubt
from zerograd.core.judgement import Code
from zerograd.source.effects import python, spelling, torch
from zerograd.source.effects.lookup import ASKING, ENDING, UNPICKLING, is_lightning
from zerograd.source.effects.rows import Act
from zerograd.source.execute import (
    attributes,
    calls,
    containers,
    counters,
    keeping,
    kinds,
    loops,
    passing,
    statements,
    unfilled,
)
from zerograd.source.execute.execution import Execution, Exhausted, Frame, Unreachable
from zerograd.source.execute.paths import PATH, Path, Slot, State, meet
from zerograd.source.execute.walked import Why
from zerograd.source.heap.conditions import Counter, Linear
from zerograd.source.heap.objects import Obj, ObjectKind
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import Graph, Value
from zerograd.source.project.classes import Classes
from zerograd.source.project.files import Caller, Project
from zerograd.source.project.index import Class, File, Function

_PASSES = 6
_CALLS = 3  # of one function, before what it leaves behind is all there is
_MOVES = 30_000  # statements of one pass
_WORK = 40_000  # statements of all passes of all roots of a file, and what facts cost: three to four seconds
_HOT = 200  # functions that lead to an event, at most
_READ_PARAMETERS = frozenset(
    name for name, row in torch.MODULE.items() if row.act in (Act.PARAMETERS, Act.NAMED_PARAMETERS)
)
_LIGHT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


Tell = Callable[[Execution], Iterable[Any]]


class Executed(NamedTuple):
    """A root that was executed to its end. `lines`: where it may be reported, None for everywhere."""

    execution: Execution | None  # None where all that is known of it is what was told when it was executed before
    lines: frozenset[int] | None
    is_own: bool = True  # it stands in the file itself, not in one that calls it
    told: tuple[Any, ...] = ()


class Outcome(NamedTuple):
    """What is kept of a root for the other files that it leads to: each of them would execute it alike."""

    told: tuple[Any, ...]
    entered: tuple[Function, ...]
    visited: tuple[ast.stmt, ...]  # the calls among them that stand alone
    work: int


class Moves:
    """How many statements a pass may execute. Each root that cannot be finished leaves half of that for the others.

    `work` is what all passes of all roots may cost; one root may use three quarters of what the others have left.
    """

    def __init__(self) -> None:
        self.left = _MOVES
        self.work = _WORK
        self.quiet_calls = False  # the root that was not finished has read functions that lead to no event

    @property
    def allowed(self) -> int:
        """What one root may cost."""
        return self.work * 3 // 4


def execute_all(project: Project, file: File, laws: Code[Any], tell: Tell = lambda _: ()) -> Iterator[Executed]:
    """Every root of a file, with what is told of it."""
    roots = _Roots(project, laws, file, tell)
    yield from roots.own(None)
    hot = _hot_functions(project, file)
    rooted: set[Function] = set()
    for function in hot:
        if function in roots.entered:
            continue
        for caller in project.callers(function) if function.cls is None and function.outer is None else ():
            yield from roots.of_caller(caller)
            if function in roots.entered:
                break
        for template in _templates(roots.classes, function):
            yield from roots.inherited(template, function)
        if function in roots.entered:
            continue
        rooted.add(function)
        yield from roots.own(function)
    for function in hot:
        if function in rooted or function not in roots.entered:
            continue
        missed = _unvisited(function, roots.visited)
        if missed:
            yield from roots.own(function, missed)


class _Roots:
    """The roots of one file, and what was reached by those that were executed so far."""

    def __init__(self, project: Project, laws: Code[Any], file: File, tell: Tell) -> None:
        self.classes = Classes(project)
        self.entered: set[Function] = set()
        self.visited: set[ast.stmt] = set()
        self._project, self._laws, self._file, self._tell = project, laws, file, tell
        self._moves, self._begun = Moves(), set[Hashable]()
        self._refusals = Refusals(project, self.classes, laws, file)

    def own(self, function: Function | None, lines: frozenset[int] | None = None) -> Iterator[Executed]:
        """The body of the file, or one of its functions; of one that is entered, these lines alone are reported."""
        done = self._execute(self._file, function)
        if done is not None:
            if lines is None:
                self._reached(done.entered, done.visited)
            yield Executed(done, lines, told=self._remember(self._file, function, done))

    def inherited(self, template: Function, method: Function) -> Iterator[Executed]:
        """A method that the class of another one has from elsewhere."""
        if (template, method.cls) in self._begun or method in self.entered:
            return
        self._begun.add((template, method.cls))
        done = self._execute(self._file, template, method.cls)
        if done is not None:
            self._reached(done.entered, done.visited)
            yield Executed(done, None, told=tuple(self._tell(done)))

    def of_caller(self, caller: Caller) -> Iterator[Executed]:
        """A root of another file, which leads here: executed once for all the files that it leads to."""
        if caller in self._begun:
            return
        self._begun.add(caller)
        moves, key = self._moves, self._key(caller.file, caller.function)
        known = self._project.outcomes.get(key)
        if isinstance(known, Outcome) and known.work <= moves.allowed:
            moves.work -= known.work
            self._reached(known.entered, known.visited)
            yield Executed(None, None, is_own=False, told=known.told)
            return
        done = self._execute(caller.file, caller.function)
        if done is not None:
            self._reached(done.entered, done.visited)
            yield Executed(done, None, is_own=False, told=self._remember(caller.file, caller.function, done))

    def _execute(self, file: File, function: Function | None, cls: Class | None = None) -> Execution | None:
        """A root that could not be finished is executed once more, and reads only those calls that lead to an event."""
        parts = self._project, self.classes, self._laws, file, function, self._moves, self._refusals, cls
        done = _execute(*parts)
        return _execute(*parts, briefly=True) if done is None and self._moves.quiet_calls else done

    def _reached(self, entered: Iterable[Function], visited: Iterable[ast.stmt]) -> None:
        self.entered.update(entered)
        self.visited.update(visited)

    def _key(self, file: File, function: Function | None) -> Hashable:
        return file, function, self._moves.left, self._tell

    def _remember(self, file: File, function: Function | None, ex: Execution) -> tuple[Any, ...]:
        """What is told of a root, which is kept unless it rests on what this file refuses."""
        told = tuple(self._tell(ex))
        if not ex.asked_what_is_refused:
            calls_alone = [one for one in ex.visited if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)]
            outcome = Outcome(told, tuple(ex.entered), tuple(calls_alone), ex.allowed - ex.work)
            self._project.outcomes[self._key(file, function)] = outcome
        return told


def _templates(classes: Classes, function: Function) -> list[Function]:
    """The methods that its class has from another file, and that call this one: they run as that class would."""
    if function.cls is None:
        return []
    methods = classes.of(function.cls).methods.values()
    return [one for one in methods if one.file is not function.file and function.name in one.called]


def _unvisited(function: Function, visited: set[ast.stmt]) -> frozenset[int]:
    """The lines of calls that no caller reaches."""
    return frozenset(
        node.lineno
        for node in ast.walk(function.node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node not in visited
    )


def _hot_functions(project: Project, file: File) -> list[Function]:
    """The functions that name an event, or call one that does; those that nobody calls first."""
    callers: dict[str, set[Function]] = {}
    for function in file.functions:
        for name in function.called:
            if name != function.name:
                callers.setdefault(name, set()).add(function)
    hot = set(calls.acting_functions(project, file, plainly=True))
    hot |= {method for one in file.classes if (method := one.methods.get(spelling.TRAINING_STEP)) is not None}
    hot |= {function for function in file.functions if not _READ_PARAMETERS.isdisjoint(function.called)}
    hot |= {function for function in file.functions if not ASKING.isdisjoint(function.keywords)}
    hot |= {one for one in file.functions if one.cls is not None and not UNPICKLING.isdisjoint(one.called) and one.sets}
    names = {function.name for function in hot}
    while names and len(hot) < _HOT:
        more = {function for name in names for function in callers.get(name, ())} - hot
        hot |= more
        names = {function.name for function in more}
    roots = [one for one in hot if one.outer is None and not isinstance(one.node, ast.Lambda)]
    return sorted(roots, key=lambda one: (one.name in callers, one.node.lineno))


class Refusals:
    """The settings that functions of a file refuse to be other than a few constants, by the names of their fields.

    Who reads settings and who trains may never meet in one root; the settings are the same all the same. Asked only
    where a finding depends on it.
    """

    def __init__(self, project: Project, classes: Classes, laws: Code[Any], file: File) -> None:
        self._project, self._classes, self._laws, self._file = project, classes, laws, file
        self._fields: set[str] | None = None

    def fields(self) -> set[str]:
        if self._fields is None:
            self._fields = set()
            moves = Moves()
            for function in self._file.functions:
                if function.outer is None and _may_refuse(function):
                    project, classes, laws, file = self._project, self._classes, self._laws, self._file
                    done = _execute(project, classes, laws, file, function, moves, self, passes=1)
                    refused = done.tables.refused.union(done.tables.refused_with) if done is not None else set()
                    names = {done.identities.field(one) for one in refused if done is not None and isinstance(one, int)}
                    self._fields |= {name for name in names if name}
        return self._fields


def _may_refuse(function: Function) -> bool:
    if not ENDING.isdisjoint(function.called):
        return True
    return any(isinstance(node, ast.Raise) for node in ast.walk(function.node))


def _execute(
    project: Project,
    classes: Classes,
    laws: Code[Any],
    file: File,
    function: Function | None,
    moves: Moves,
    refusals: Refusals,
    cls: Class | None = None,
    *,
    passes: int = _PASSES,
    briefly: bool = False,
) -> Execution | None:
    """One root, pass by pass until nothing more is learned; a method, on an object of this class or of its own. None if
    it could not be finished."""
    allowed = moves.allowed
    ex = Execution(project, classes, laws, file, moves=moves.left, work=allowed)
    ex.root_class = cls or (function.cls if function is not None else None)
    ex.refusals, ex.briefly = refusals, briefly
    for _ in range(passes):
        ex.begin_pass()
        reserved = allowed * 2 // 3 if ex.exploring and passes > 1 else 0  # for two more passes at least
        ex.work -= reserved
        top = Frame(statements.module_frame(file), file, None, None, ex.outermost)
        ex.frames = [top]
        unfilled.begin(ex)
        try:
            if function is None:
                ex.symbolic = False
                statements.execute(ex, file.tree.body)
            else:
                _enter(ex, file, function, ex.root_class)
        except Unreachable:
            pass
        except (Exhausted, RecursionError):
            moves.left //= 2
            moves.quiet_calls = ex.quiet_calls
            moves.work -= allowed - max(ex.work + reserved, 0)  # what was kept for later passes was not spent
            return None
        ex.work += reserved
        _learn(ex)
        nothing_happens = not ex.tables.slots and not ex.tables.owners and ex.tables.kinds == 0
        if nothing_happens or not (ex.tables.grown or ex.exploring):
            break
        ex.exploring = False
    moves.work -= allowed - ex.work
    return ex


def _learn(ex: Execution) -> None:
    """What the pass has shown, for the next one."""
    tables = ex.tables
    tables.deposits = ex.deposits
    if tables.stepped_under != ex.stepped_under:
        tables.stepped_under, tables.grown = ex.stepped_under, True
    places: dict[Any, dict[Any, set[str]]] = {}
    for (optimizer, _), found in ex.windows.items():
        for place, want in found:
            places.setdefault(optimizer, {}).setdefault(place, set()).add(want)
    stepping = {
        optimizer: {(place, next(iter(wants))) for place, wants in known.items() if len(wants) == 1}
        for optimizer, known in places.items()
    }
    if stepping != tables.stepping:
        tables.stepping = stepping
        tables.grown = True
    if kinds.infer(ex):
        tables.kinds += 1
        tables.grown = True
        for obj in ex.heap.all():  # they may have been handed to what turns out to be a network
            obj.shown = False


def _enter(ex: Execution, file: File, function: Function, cls: Class | None) -> None:
    """A function, with symbols for what it is given."""
    ex.symbolic = False
    if file.light is None:
        file.light = [one for one in file.tree.body if isinstance(one, _LIGHT) and _is_light(one)]
    statements.execute(ex, file.light)
    if ex.path is None:
        return
    ex.symbolic = True
    receiver: Value | None = None
    if cls is not None:
        receiver = _receiver(ex, function, cls)
        if function.name == python.INIT:
            return
    unfilled.enter_function(ex)
    obj = calls.method_object(ex, function)
    decorating = [calls.decorator_act(ex, one, function) for one in function.decorators]
    obj.no_grad = Act.NO_GRAD in decorating
    ex.tables.examined = ex.tables.examined or None in decorating  # whoever calls it looks at what it did
    _again_and_again(ex, obj, function, receiver)


def _again_and_again(ex: Execution, obj: Obj, function: Function, receiver: Value | None) -> None:
    """Anybody may call a function again. What it leaves undone, its caller may do in between."""
    whole = ex.whole = counters.whole_of(function)
    ex.records.append(whole)
    counting = loops.enter_calls(ex, whole)
    numbered = _batch_number(ex, function, whole)
    told = counters.told(ex, function) if not numbered else []
    if told:
        ex.path = ex.here.copy()
        counters.start(ex, told, whole)
    entry = ex.here
    left_in_fields: dict[Key, Value] = {}
    for number in range(_CALLS):
        ex.called_again = number > 0
        level = ex.store.open()
        ex.path = entry.copy()
        for key, held in left_in_fields.items():
            ex.store.put(key, held)
        ex.loops = [whole] if counting or numbered or told else []
        value = calls.inline(ex, obj, [], numbered, function.node, receiver=receiver, cls=function.cls, running=True)
        keeping.lose(ex, containers.deep(ex, value))
        passing.escape(ex, containers.deep(ex, value))
        if receiver is not None and _is_training_step(ex, function):
            ex.returned = value if _is_left_to_framework(ex, function, receiver) else None
        back = ex.capture(level)
        known, left_in_fields = left_in_fields, passing.fields_come_round(ex, receiver, back, whole)
        ex.store.undo(level)
        left = loops.next_call(ex, whole, back, _own_fields(ex, function, receiver, back)).copy()
        passing.path_comes_round(ex, left, whole)
        if ex.tables.training - {0, whole}:
            break  # it has a loop that trains: that is all the repetition there is
        for slot, facts in left.facts.items():
            if slot != PATH:
                undone = ALL_DOUBTS - {Kind.SCHEDULE} - ex.tables.does(whole, slot)
                private = slot[0] is not None and _is_private(ex, slot[0], receiver)
                if Kind.CLEAR in undone and private and not _is_in_a_branch(ex, slot):
                    undone -= {Kind.CLEAR}
                ex.excuses.note(ex, slot, undone, function.node, Why.CALLER)
                left.facts[slot] = doubt(facts, undone)
        later = meet(entry, left)
        if later.same_as(entry) and left_in_fields.keys() <= known.keys():
            break
        entry = later
    ex.records.remove(whole)
    made = _handed_out(ex, value)
    if made is not None and made.function is not None:  # whoever gets it will call it, again and again
        ex.loops = []
        ex.meet([back], (function.node, ex.context, "handed out"))
        _again_and_again(ex, made, made.function, made.receiver)


def _handed_out(ex: Execution, value: Value) -> Obj | None:
    """The function that a root has made, and that nobody here has called."""
    if len(value.objects) != 1 or not value.exact:
        return None
    (made,) = value.objects
    function = made.function
    if made.kind is not ObjectKind.FUNCTION or function is None or made.frame is None:
        return None
    if function in ex.entered - ex.handed_out or not calls.names_events(ex, function):
        return None
    ex.handed_out.add(function)
    return made


def _is_training_step(ex: Execution, function: Function) -> bool:
    """Whether Lightning calls a method, and goes backward with what it returns."""
    if function.cls is None:
        return False
    known = ex.classes.of(function.cls)
    return known.methods.get(spelling.TRAINING_STEP) is function and any(map(is_lightning, known.outside))


def _batch_number(ex: Execution, function: Function, whole: Hashable) -> dict[str, Value]:
    """Lightning tells a training step the number of its batch: it counts the calls."""
    names = [one.arg for one in function.node.args.args]
    if len(names) < 3 or not _is_training_step(ex, function):
        return {}
    counter = Counter(whole, None)
    count = counters.count_of(ex, counter)
    count.start, count.increment = Linear(None, 0), 1
    ex.path = ex.here.copy()
    counters.start(ex, [counter], whole)
    return {names[2]: counters.counter_value(ex, counter)}


def _is_left_to_framework(ex: Execution, function: Function, receiver: Value) -> bool:
    """Whether nobody but Lightning can go backward: the object neither does it itself nor keeps a loss."""
    told = attributes.read(ex, receiver, spelling.AUTOMATIC, function.node).constant
    kept = [held for obj in receiver.objects for _, held in ex.store.fields(obj)]
    kept += [inner for held in kept for inner in containers.deep(ex, held)]
    by_itself = told is not None and not told.value
    return not by_itself and not any(held.graph is Graph.LIVE and not held.objects for held in kept)


def _own_fields(ex: Execution, function: Function, receiver: Value | None, back: State) -> set[Key]:
    """The fields that a call has changed, and that nobody outside the class sets."""
    if receiver is None or function.cls is None:
        return set()
    changed = {key for key in back.changes if key[0] in receiver.objects and isinstance(key[1], str)}
    set_outside = ex.main.set_outside(function.cls) if changed else set()
    return {key for key in changed if key[1] not in set_outside}


def _is_in_a_branch(ex: Execution, slot: Slot) -> bool:
    """Whether a setting decides over events of a slot: another call may answer otherwise, or never."""
    return any(
        isinstance(branch, tuple) and isinstance(branch[0], ast.If) and slot in slots
        for branch, slots in ex.tables.emitted.items()
    )


def _is_private(ex: Execution, optimizer: Obj, receiver: Value | None) -> bool:
    """Whether nobody else names the fields in which an object keeps its optimizer and its networks."""
    if receiver is None or optimizer.given:
        return False
    if any(obj.cls is not None and ex.classes.of(obj.cls).outside for obj in receiver.objects):
        return False  # nobody can read what it inherits
    kept = {optimizer, *optimizer.held}
    names = {
        name
        for obj in receiver.objects
        for (_, name), value in ex.store.fields(obj)
        if isinstance(name, str) and not value.objects.isdisjoint(kept)
    }
    if not names or any(not names.isdisjoint(one.attributes) for one in ex.main.functions if one not in ex.entered):
        return False
    outside = [one for one in ex.main.tree.body if not isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    named = {node.attr for one in outside for node in ast.walk(one) if isinstance(node, ast.Attribute)}
    return names.isdisjoint(named) and not any(ex.project.is_named(name, ex.main) for name in names)


def _receiver(ex: Execution, function: Function, cls: Class) -> Value | None:
    """An instance of a class, made with symbols. What other methods set is not what __init__ left there."""
    if any(calls.decorator_act(ex, one, function) is Act.STATIC for one in function.decorators):
        return None
    value = calls.class_value(ex, cls)
    (obj,) = value.objects
    try:
        made = calls.instantiate(ex, obj, [], {}, cls.node)
    except Unreachable:
        ex.path = Path.start(list(ex.tables.slots))
        made = ex.thing(ex.heap.of("instance", cls.node, "unfinished", kind=ObjectKind.INSTANCE))
        for one in made.objects:
            one.cls = cls
    (me,) = made.objects
    later = _set_by_others(ex, function, cls)
    for (owner, name), held in ex.store.fields(me):
        if isinstance(name, str) and name in later:
            if held.constant is not None and held.constant.value is None:
                ex.store.put((owner, name), ex.given(me, name, name=name, of=me))
            elif held.number is not None and held.number.base is None:
                ex.store.put((owner, name), Value(ex.given(me, name, name=name, of=me).id, exact=False))
    return made


def _set_by_others(ex: Execution, function: Function, cls: Class) -> set[str]:
    """The fields that methods other than __init__ and this one set."""
    found: set[str] = set()
    for name, method in ex.classes.of(cls).methods.items():
        if name == python.INIT or method is function:
            continue
        found |= method.sets
    return found


def _is_light(statement: ast.stmt) -> bool:
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return True
    return not any(isinstance(node, (ast.ListComp, ast.DictComp, ast.Await)) for node in ast.walk(statement))
