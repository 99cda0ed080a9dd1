"""The machine of the abstract run: where it stands, and what every part of it needs."""

import ast
from collections.abc import Callable, Hashable, Iterable, Sized
from typing import Any, Concatenate, NamedTuple, ParamSpec

from zerograd.core.events import Site
from zerograd.core.facts import NO_DOUBT, Fact, Facts
from zerograd.core.judgement import Code
from zerograd.core.machine import START
from zerograd.source.execute.paths import PATH, Path, Slot, State, meet
from zerograd.source.execute.tables import Branch, Deposit, Tables
from zerograd.source.execute.walked import Answered, Events, Excuses
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import Asked, Counter, Linear, Place, Test, leaves
from zerograd.source.heap.identity import Identities
from zerograd.source.heap.objects import Heap, Mode, Obj, ObjectKind
from zerograd.source.heap.regions import Overlap
from zerograd.source.heap.store import Changes, Key, Store
from zerograd.source.heap.values import NO_OBJECTS, Constant, Graph, Regions, Value, join
from zerograd.source.project.classes import Classes
from zerograd.source.project.files import Project
from zerograd.source.project.index import Class, File, Function


class Names:
    """What stands for the names of a function that is executed in a context."""

    __slots__ = ("context", "function")

    def __init__(self, function: ast.AST, context: "Context") -> None:
        self.function = function
        self.context = context


class Context:
    """The calls that lead to where the machine stands, and the rounds of short loops: one object for each chain."""

    __slots__ = ("_entered", "_frames", "_later", "first", "outer")

    def __init__(self, entered: Hashable = None, outer: "Context | None" = None) -> None:
        self._entered = entered
        self.outer = outer
        self.first: Hashable = (outer.first or entered) if outer is not None else None  # the outermost call
        self._later: dict[Hashable, Context] = {}
        self._frames: dict[ast.AST, Names] = {}

    def then(self, entered: Hashable) -> "Context":
        """The context of what is called here, or of a round."""
        known = self._later.get(entered)
        if known is None:
            known = self._later[entered] = Context(entered, self)
        return known

    def is_in(self, other: "Context") -> bool:
        """Whether the calls of the other one lead here."""
        context: Context | None = self
        while context is not None and context is not other:
            context = context.outer
        return context is other

    def moved(self, old: "Context", new: "Context") -> "Context":
        """What this one is where `new` stands for `old`."""
        if self is old or self.outer is None:
            return new if self is old else self
        outer = self.outer.moved(old, new)
        return outer.then(self._entered) if outer is not self.outer else self

    def frame(self, function: ast.AST) -> Names:
        """What stands for the names of a function that is executed in this context."""
        known = self._frames.get(function)
        if known is None:
            known = self._frames[function] = Names(function, self)
        return known


ONE = Constant(1)
_NOWHERE: frozenset[Hashable] = frozenset()
_FAR = 5  # readings of readings
_FACTS_PER_MOVE = 500  # as many are moved in the time of one statement


P = ParamSpec("P")


class Unreachable(Exception):
    """No execution goes on from here."""


class Exhausted(Exception):
    """The moves of this root are used up: what is not finished is not reported."""


class Guard(NamedTuple):
    """A branch that was taken."""

    test: Test
    yes: bool
    node: ast.AST
    loops: int  # how many loops of its function it stands in
    inside: int = 0  # how many loops in all
    steady: bool = False  # no iteration of those answers otherwise


class LoopRecord:
    def __init__(self, level: int) -> None:
        self.level = level
        self.breaks: list[State] = []
        self.continues: list[State] = []


class Frame:
    """One call that is being executed. `parent`: where its free names are looked up."""

    def __init__(
        self, identity: Hashable, file: File, function: Function | None, parent: "Frame | None", context: Context
    ) -> None:
        self.id = identity
        self.file = file
        self.function = function
        self.parent = parent
        self.context = context
        self.level = 0
        self.updated = 0  # what that was for the machine when this statement began
        self.returns: list[tuple[State, Value]] = []
        self.conditions: list[Test] = []  # the tests that lead to each of the returns
        self.loops: list[LoopRecord] = []
        self.guards: list[Guard] = []
        self.finals: list[tuple[int, Callable[[], None]]] = []  # what runs before a jump leaves its block
        self.global_names: set[str] = set()
        self.outer_names: set[str] = set()
        self.receiver: Value | None = None
        self.cls: Class | None = None
        self.seeded = False  # it has told the random numbers where to begin
        self.unwritten = False  # on some path it says that somebody else is to write it
        self.forwards = False  # it does nothing but call something else: what happens there happens at its call
        self.called_at: ast.AST | None = None
        self.about: tuple[frozenset[Obj], ...] = ()  # what it was handed: with others, it is not the same call again
        self.consumer: Callable[[Value], None] | None = None  # of a generator: the block of whoever iterates


class Handler(NamedTuple):
    """A try that is being executed, and the states in which something was raised in it."""

    level: int
    raised: list[State]


def _is_far(obj: Obj | None) -> bool:
    """Whether a given thing was read from one that was read from another, and so on: what is in it stands for itself.

    A program that writes what it reads back into the same place would else make things for ever.
    """
    steps = 0
    while obj is not None and steps < _FAR:
        obj, steps = obj.source, steps + 1
    return obj is not None


class Execution:
    """One root, executed pass by pass."""

    def __init__(
        self, project: Project, classes: Classes, laws: Code[Any], main: File, *, moves: int, work: int
    ) -> None:
        self.project = project
        self.classes = classes
        self.laws = laws
        self.main = main
        self.moves_of_a_pass = moves
        self.allowed = self.work = work  # for all passes; `work` is what is left of it
        self.outermost = Context()
        self.heap = Heap()
        self.identities = Identities()
        self.tables = Tables()
        self.overlap = Overlap()
        self.none = Value(
            self.identities.of("constant", "NoneType", None), frozenset({self.heap.none}), constant=Constant(None)
        )
        self._constants: dict[tuple[type, Hashable], Value] = {}
        self.counter_ids: dict[int, Counter] = {}
        self.ranges: set[Hashable] = set()  # loops that count, and go through no data
        self.heads: dict[int, Hashable] = {}  # values that stand for what the last iteration of a loop has left
        self.unless_told: dict[int, int] = {}  # numbers that are this one, unless somebody tells another
        self.by_default: dict[int, Hashable] = {}  # what settings are, unless somebody tells something else
        self.products: dict[int, tuple[Linear, Linear]] = {}  # numbers that are one number times another
        self._parts_asked: dict[Asked, frozenset[int]] = {}
        self.unwatched: set[int] = set()  # parameters past autograd: .data
        self.graphed: set[int] = set()  # what is computed with a graph, or may be
        self.tensor_ids: set[int] = set()  # what is computed from something with a graph
        self.born: dict[int, frozenset[Hashable]] = {}  # the loops in which something is computed anew
        self.root_class: Class | None = None
        self.refusals: Any = None  # what the file refuses elsewhere
        self.asked_what_is_refused = False
        self.exploring = True  # the first pass, which learns what there is: it goes through each loop once
        self.briefly = False  # functions that lead to no event are not read
        self.quiet_calls = False  # some were
        self.symbolic = False  # the root's own parameters are symbols, whatever their defaults
        self._version: Hashable = None
        self.records_of: dict[Hashable, list[Any]] = {}  # see [Note: replaying]
        self.summaries: dict[Hashable, list[Any]] = {}  # see [Note: summaries]
        self.telling: dict[Hashable, int] = {}  # calls that have no summary, and how often one was tried
        self.entered: set[Function] = set()
        self.made_in_forward: dict[Obj, Regions] = {}  # modules that are made whenever one of these networks runs
        self.near: set[Obj] = set()  # leaves that are made where torch makes them unless it is told a device
        self.moved: dict[int, Obj] = {}  # tensors that are copies on another device, and of which leaf
        self.named: dict[Obj, str] = {}  # what the program calls networks and tensors, for the sentences of findings
        self.handed_out: set[Function] = set()  # functions that a root has made, for others to call
        self.visited: set[ast.stmt] = set()
        self.passes = 0
        self.begin_pass()

    def begin_pass(self) -> None:
        self.passes += 1
        self.store = Store()
        self.path: Path | None = Path.start(list(self.tables.slots))
        self.frames: list[Frame] = []
        self.records: list[Branch] = []  # the branches and loops that the machine stands in
        self.handlers: list[Handler] = []
        self.loops: list[Hashable] = []
        self.moves = self.moves_of_a_pass
        self.grad_mode = Mode.ON  # or OFF, or MAYBE
        self.accumulating: Obj | None = None
        self.accumulated: Regions = NO_OBJECTS  # the networks that it was told
        self.elsewhere = False  # tensors are made on a device that was told for all of them
        self.failing = False  # in a block in which something is to go wrong
        self.quiet: list[Any] = []  # the blocks around that keep gradients to the rank: see [Note: ranks]
        self.dropped: ast.AST | None = None  # the expression whose result nobody takes
        self.each: frozenset[Obj] = frozenset()  # the objects of a loop that is executed once for each of them
        self.handing: Callable[[Value], None] | None = None
        self.forwards = 0
        self.whole: Hashable = None  # the function that is a root: each of its calls is a round
        self.called_again = False  # the root is called once more: its settings may be answered otherwise
        self.looks = 0  # how often somebody may have read gradients
        self.losses = 0  # how many losses were computed on the way here
        self.too_long: set[Function] = getattr(self, "too_long", set())
        # What forward() returns, for each module and mode, with what its containers hold.
        self.results: dict[Hashable, tuple[Value | None, dict[Key, Value]]] = {}
        self.configured: dict[Obj, tuple[Value, dict[Key, Value]]] = {}
        self.renewed: list[int] | None = None
        version = self.tables.version()
        if version != self._version:  # what is known of things has changed: nothing is as it was
            self._version, self.records_of, self.summaries, self.telling = version, {}, {}, {}
            self._forget_kept()
        self.met: dict[tuple[Any, Site | None], Any] = {}  # the laws that were broken, by place
        self.told: set[tuple[Any, Site | None]] = set()
        self.events: dict[Slot, Events] = {}
        self.excuses = Excuses()
        self.calling: ast.AST | None = None  # the call that is being carried out
        self.deposits: dict[Site, Deposit] = {}
        self.windows: dict[tuple[Obj, Site], frozenset[tuple[Place, str]]] = {}  # where every path of a step stands
        self.fed: dict[tuple[Site, Obj], Any] = {}  # see [Note: groups]
        self.taken: dict[tuple[Obj, Site, Context], Any] = {}
        self.handed: dict[Obj, set[Any]] = {}  # whose unread gradients were handed to whom nobody can read
        self.closures: dict[Site, Any] = {}
        self.held_twice: dict[Site, Any] = {}  # optimizers that hold what they or others hold already
        self.orphaned: dict[Site, tuple[Any, Obj, Obj | None]] = {}  # optimizers that step what nobody uses any more
        self.brought: dict[Site, tuple[Any, Obj]] = {}  # optimizers that come with parameters of their own
        self.left_out: dict[Obj, Any] = {}  # groups of parameters that were made and given to nobody
        self.filled: dict[Site, Regions] = {}  # what each backward surely fills, and nobody has frozen
        self.computed: dict[Site, Value] = {}  # losses, and where
        self.returned: Value | None = None  # by the root, to a framework that goes backward with it
        self.ungraded: dict[int, tuple[Site, Obj]] = {}  # tensors without a gradient that an optimizer was given
        self.cleared: dict[Site, tuple[Regions, Regions]] = {}  # what each clear surely empties, and what it may
        self.exhausted: dict[Site, Any] = {}  # parameters that are read where nothing is left of them
        self.shared: dict[Site, Any] = {}  # gradients that are handed over again and again
        self.missing: dict[Hashable, Any] = {}  # see [Note: readers]
        self.no_leaves: dict[int, tuple[int, str]] = {}  # gradients of tensors that are computed: whose, and as written
        self.lost_updates: dict[Site, Any] = {}  # by hand
        self.loop_variables: set[Key] = set()
        self.unread: dict[Key, set[Site]] = {}  # loop variables that were given another tensor, and where
        self.updated = 0  # how often a parameter was changed in place
        self.unread_blocks = 0  # the blocks around that are entered by something that nobody can read
        self.clears: dict[Site, Any] = {}  # what is known of each clear
        self.handed_over = False  # since the last step, a gradient was handed over
        self.asks_gradient = False  # the test that is being evaluated asks whether there is a gradient
        self.captures = False  # something is captured in a graph that is replayed
        self.comprehending = 0  # the comprehensions around
        self.wasted: dict[tuple[Site, Obj], tuple[Site, str, Function | None]] = {}  # deposits that a clear erases
        self.stepped_each: dict[
            tuple[Site, Context], dict[Obj, bool]
        ] = {}  # whether each of a loop's optimizers starves
        self.clips: dict[Site, Any] = {}  # what becomes of each clip
        self.stepped_under: dict[Slot, set[frozenset[tuple[Test, bool]]]] = {}
        self.scalers: dict[Obj, Any] = {}  # where each scaler is made
        self.steps_of_scalers: dict[Obj, dict[Site, str]] = {}
        self.updated_scalers: set[Obj] = set()
        self.unsettled: dict[Site, Any] = {}  # see [Note: settled]
        self.forgetful: set[Obj] = set()  # scalers that are made anew while their optimizer goes on
        self.happened = 0  # events and doubts, also those that have changed nothing
        self.noted = 0  # how often something was noted that no name and no fact shows
        self.bounds: dict[Hashable, Hashable] = {}  # what while-loops count up to
        self.over_parameters: set[Hashable] = set()  # loops over parameters
        self.copies: dict[Obj, tuple[Site, str]] = {}  # gradients that were clipped into a copy, and where
        self.hooks: dict[Obj, dict[Site, str]] = {}  # hooks that clip what comes into a region
        self.hook: list[Regions] | None = None  # while a hook is tried: what it clips in place
        self.tables.grown = False
        self._notes: tuple[Sized, ...] = (
            *(self.met, self.deposits, self.windows, self.fed, self.taken, self.handed, self.closures, self.held_twice),
            *(self.ungraded, self.cleared, self.exhausted, self.shared, self.clears, self.wasted, self.clips),
            *(self.stepped_each, self.stepped_under, self.scalers, self.steps_of_scalers, self.updated_scalers),
            *(self.unsettled, self.forgetful, self.copies, self.hooks, self.missing, self.lost_updates),
            *(self.orphaned, self.brought, self.filled, self.left_out),
        )

    def _forget_kept(self) -> None:
        """What iterations leave behind is found anew, as all statements are executed anew."""
        self.made_with: dict[Obj, dict[str, Value]] = {}  # the keywords of the calls that made something
        self.added: dict[Site, Any] = {}  # see [Note: kept graphs]
        self.kept: dict[Site, Any] = {}
        self.wanted: frozenset[Site] = frozenset()  # kept graphs that a backward goes through
        self.emptied: set[Obj] = set()  # lists out of which something is taken
        self.maybe_emptied: set[Obj] = set()  # or may be
        self.given_away: frozenset[Site] = frozenset()  # or may
        self.leaves_kept: set[Obj] = set()  # in fields, where anybody may find them
        # Beginnings of graphs in the iteration before, and of which loop: see [Note: through]
        self.aged: dict[int, Hashable] = {}
        self.begun_in: dict[int, frozenset[Hashable]] = {}  # the loops in which graphs begin anew
        self.may_begin: set[int] = set()  # where graphs begin if they do not come from elsewhere
        self.entered_at: dict[int, tuple[Site, str]] = {}  # where graphs of the iteration before go on
        self.before_loop: dict[int, set[int]] = {}  # what stood there when a loop began, for what stands at its head
        # What names hold at the head of a loop that its last iteration has left.
        self.came_round: dict[int, Hashable] = {}
        self.spent: frozenset[int] = frozenset()  # of those, what a backward has surely gone through
        self.returned_to: set[int] = set()  # and what one goes through in the next iteration
        self.told_to_keep: dict[Site, Any] = {}  # backwards that are told to keep their graphs
        self.needed: set[Site] = set()  # for another backward, as far as one sees
        self.handed_back: dict[ast.Return, dict[Context, Value]] = {}  # to whoever calls

    # --- where the machine stands

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def context(self) -> Context:
        return self.frames[-1].context

    @property
    def here(self) -> Path:
        """The path, which is known to be alive."""
        assert self.path is not None
        return self.path

    @property
    def guards(self) -> list[Guard]:
        """The branches that were taken to get here, those of the callers first."""
        return [guard for frame in self.frames for guard in frame.guards]

    def answered(self) -> Answered:
        """How the tests were answered that lead here, as far as no iteration may answer otherwise."""
        if self.exploring:
            return frozenset()
        return frozenset([(guard.test, guard.yes) for guard in self.guards if guard.steady])

    def branch(self, node: ast.AST, arm: Hashable) -> Branch:
        return (node, self.context, arm)

    def site(self, node: ast.AST, depth: int | None = None) -> Site:
        """Where a node stands; what a function does that only calls something else, it does where it is called.

        `depth`: of the frame that it stands in, if that is not the last one.
        """
        frame, node = self._seen_at(node, depth)
        assert isinstance(node, (ast.expr, ast.stmt, ast.ExceptHandler))
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return Site(frame.file.path, node.lineno, node.col_offset + 1, end_line, end_column + 1)

    def function_at(self, node: ast.AST) -> Function | None:
        """The function in which the site of a node stands."""
        return self._seen_at(node)[0].function

    def _seen_at(self, node: ast.AST, depth: int | None = None) -> tuple[Frame, ast.AST]:
        depth = len(self.frames) - 1 if depth is None else depth
        while depth > 0 and self.frames[depth].forwards:
            called_at = self.frames[depth].called_at
            if not isinstance(called_at, ast.Call):
                break
            node, depth = called_at, depth - 1
        return self.frames[depth], node

    def spend(self) -> None:
        """One statement more. Where many facts are known, each of them has to be moved."""
        self.moves -= 1
        if self.path is not None:
            self.work -= 1 + sum(map(len, self.path.facts.values())) // _FACTS_PER_MOVE
        if self.moves < 0 or self.work < 0:
            raise Exhausted

    # --- values

    def fresh(self, node: ast.AST, tag: str = "computed", made_of: tuple[int, ...] = ()) -> int:
        """The identity of what this expression computes now; what was answered about the last one is forgotten."""
        identity = self.identities.of(tag, node, self.context, made_of=made_of)
        if isinstance(node, (ast.Call, ast.Attribute)):
            self.computed_anew(identity)
        else:
            self._renewed(identity)
        return identity

    def computed_anew(self, identity: int) -> None:
        if self.loops and identity not in self.born:
            self.born[identity] = frozenset(self.loops)
        self._renewed(identity)

    def _renewed(self, identity: int) -> None:
        if self.renewed is not None:
            self.renewed.append(identity)
        self.renew(identity)

    def known_as(self, identity: int, other: int) -> None:
        """What is known of one identity is known of another."""
        for marked in (self.tensor_ids, self.graphed):
            if identity in marked:
                marked.add(other)
        if identity in self.begun_in:
            self.begun_in[other] = frozenset((*self.loops, self.whole))
        if identity in self.unless_told:
            self.unless_told[other] = self.unless_told[identity]
        if identity in self.by_default:
            self.by_default[other] = self.by_default[identity]

    def renew(self, identity: int) -> None:
        """A value is computed anew: what was answered about the last one is forgotten, and it has no gradient yet."""
        if self.path is None:
            return
        if identity in self.tables.asked_of:
            self.forget(identity)
        for told, leaf in self.tables.leaves.items():
            if identity in self.identities.parts(told):
                self.begin_anew({leaf})

    def begin_anew(self, regions: set[Obj]) -> None:
        """These were just made: nobody has updated them by hand."""
        facts = self.here.facts
        for slot in facts:
            if slot[0] is not None and slot[0].kind is ObjectKind.HAND and slot[1] in regions:
                facts[slot] = frozenset(Fact(START, NO_DOUBT, fact.assumed) for fact in facts[slot])

    def forget(self, identity: int) -> None:
        def asks(question: object) -> bool:
            return isinstance(question, Asked) and identity in self._asked_of(question)

        self.each_fact(answers.forgetting(asks))

    def _asked_of(self, question: Asked) -> frozenset[int]:
        """The values that a question asks, and all that they are computed from."""
        known = self._parts_asked.get(question)
        if known is None:
            bases = [one.base if isinstance(one, Linear) else one for one in question.of]
            parts = [self.identities.parts(base) for base in bases if isinstance(base, int)]
            known = self._parts_asked[question] = frozenset().union(*parts)
        return known

    def constant(self, value: Hashable) -> Value:
        if value is None:
            return self.none
        known = self._constants.get((type(value), value))
        if known is not None:
            return known
        whole = Linear(None, value) if isinstance(value, int) and not isinstance(value, bool) else None
        identity = self.identities.of("constant", type(value).__name__, value)
        made = Value(identity, number=whole, constant=Constant(value))
        self._constants[(type(value), value)] = made
        return made

    def thing(self, obj: Obj) -> Value:
        """The value that is exactly this object."""
        return Value(self.identities.of("object", obj), frozenset({obj}))

    def unknown(self, node: ast.AST, tag: str = "computed") -> Value:
        return Value(self.fresh(node, tag), exact=False)

    def given(self, *key: Hashable, name: str = "", of: Obj | None = None, made_of: tuple[int, ...] = ()) -> Value:
        """A value that comes from outside."""
        is_far = of is not None and of.kind is ObjectKind.GIVEN and _is_far(of)
        obj = of if is_far and of is not None else self.heap.of("given", *key, kind=ObjectKind.GIVEN)
        if not obj.given:
            obj.given, obj.name, obj.source = True, name, of
        identity = self.identities.of("given", *key, made_of=made_of)
        anything = frozenset({self.heap.anything})
        mine = frozenset({identity})
        return Value(identity, frozenset({obj}), False, graph=Graph.ANY, made_of=anything, through=mine)

    def changing(self, identity: int) -> bool:
        """Whether a loop that the machine stands in computes this anew."""
        born = self.born.get(identity)
        return born is not None and not born.isdisjoint(self.loops)

    def changing_in(self, identity: int, loops: Iterable[Hashable]) -> bool:
        """Whether one of these loops computes this anew."""
        return not self.born.get(identity, frozenset()).isdisjoint(loops)

    def effects(self) -> tuple[Hashable, ...]:
        """What a statement leaves behind beside names and facts, as far as it can be compared."""
        path, frame = self.path, self.frames[-1]
        if path is None:
            return ()
        jumps = [(len(loop.breaks), len(loop.continues)) for loop in frame.loops]
        raised = [len(handler.raised) for handler in self.handlers]
        marks = (
            path.pending,
            path.clips,
            path.since,
            path.frozen,
            path.severed,
            path.homeless,
            path.stepped,
            path.wrapped,
            path.slopes,
            path.passed,
            path.retained,
        )
        return (
            len(frame.returns),
            tuple(jumps),
            tuple(raised),
            marks,
            len(self.wasted),
            len(self.closures),
            self.noted,
            self.grad_mode,
            self.losses,
            self.looks,
        )

    def notes(self) -> tuple[int, ...]:
        """How much was noted in this pass of clips, scalers, windows and whatever else no name and no fact shows."""
        return tuple(map(len, self._notes))

    # --- where paths meet

    def capture(self, level: int) -> State:
        return State(self.store.changes(level), self.here)

    def meet(self, states: Iterable[State | None], at: Hashable, test: Test | None = None) -> None:
        """Go on from where these states meet, each told as changes to what the store holds now."""
        alive = [state for state in states if state is not None and not state.path.is_dead]
        if not alive:
            self.path = None
            return
        changes, path = alive[0]
        for other in alive[1:]:
            changes, path = self._meet_two(State(changes, path), other, at, test if len(alive) == 2 else None)
        self.store.apply(changes)
        self.path = path

    def _meet_two(self, one: State, other: State, at: Hashable, test: Test | None) -> State:
        from zerograd.source.execute import counters  # it needs this module: one of the two must wait

        changes: Changes = {}
        differing: list[tuple[Key, Value | None, Value | None]] = []
        mine, theirs, get = one.changes, other.changes, self.store.get
        for key in [*mine, *(key for key in theirs if key not in mine)]:
            first = mine[key] if key in mine else get(key)
            second = theirs[key] if key in theirs else get(key)
            if first is None or second is None or first is second:
                changes[key] = first if second is None else second
            else:
                differing.append((key, first, second))
        path_one, path_other = one.path, other.path
        if differing:
            differing, path_one, path_other = counters.brought_together(self, differing, path_one, path_other)
            for key, first, second in differing:
                assert first is not None
                assert second is not None
                met = self.joined(first, second, self.identities.of("met", at, key), test)
                born = self.born.get(first.id, _NOWHERE) | self.born.get(second.id, _NOWHERE)
                if born and met.id not in (first.id, second.id):
                    self.born[met.id] = self.born.get(met.id, _NOWHERE) | born
                if met.picked is not None and isinstance(at, tuple) and isinstance(at[0], ast.If):
                    met = self.picked_at(met, at[0].test)
                changes[key] = met
                if isinstance(test, Asked) and test == Asked("<", (("k", 1), second.id)) and first.constant == ONE:
                    self.tables.add(self.tables.refused, met.id)  # set to 1 if it is more
        return State(changes, meet(path_one, path_other))

    def joined(self, one: Value, other: Value, identity: int, test: Test | None = None) -> Value:
        """Where two paths meet: a number that only one of them knows is that, unless the other tells."""
        met = join(one, other, identity, test)
        if met.id == identity and met.number is None:
            known = [value.number for value in (one, other) if isinstance(value.number, Linear)]
            if len(known) == 1 and known[0].base is None:
                self.unless_told[identity] = known[0].offset
        if isinstance(test, Asked) and test.what == "true" and test.of[0] in self.by_default:  # not a name: asked so
            chosen = self.setting(one if self.by_default[test.of[0]] else other)
            if chosen is not None and met.id == identity:
                self.by_default[identity] = chosen
        return met

    def setting(self, value: Value) -> Hashable:
        """What a setting is, unless somebody tells something else; None if nobody knows."""
        return value.constant.value if value.constant is not None else self.by_default.get(value.id)

    def picked_at(self, value: Value, node: ast.expr) -> Value:
        """One of two things, which of them it is being asked here."""
        if value.picked is None or value.picked.site is not None:
            return value
        return value._replace(picked=value.picked._replace(site=self.site(node), text=ast.unparse(node)))

    def each_fact(self, change: Callable[Concatenate[Facts, P], Facts], *args: P.args, **options: P.kwargs) -> None:
        """Change the facts of every slot, and of the path itself: `change(facts, ...)`."""
        facts = self.here.facts
        changed: dict[int, Facts] = {}  # slots that nothing has hit have the very same facts, and keep them so
        for slot, known in facts.items():
            later = changed.get(id(known))
            if later is None:
                later = changed[id(known)] = change(known, *args, **options)
            facts[slot] = later

    def is_refused(self, base: int | None, slot: Slot | None = None) -> bool:
        """Whether the program refuses that a number is other than a few constants, here or where settings are read.

        Where it does so together with a switch, that says nothing of slots whose events no such switch decides over.
        """
        if base in self.tables.refused:
            return True
        switches = self.tables.refused_with.get(base, set())
        if switches and (slot is None or any(self._decides_over(slot, one) for one in switches)):
            return True
        field = self.identities.field(base) if base is not None else ""
        self.asked_what_is_refused = self.asked_what_is_refused or bool(field)
        return bool(field) and self.refusals is not None and field in self.refusals.fields()

    def _decides_over(self, slot: Slot, switch: Test) -> bool:
        return any(slot in slots and switch in leaves(test) for (test, _), slots in self.tables.under.items())

    def slots(self) -> list[Slot]:
        return [slot for slot in self.here.facts if slot != PATH]
