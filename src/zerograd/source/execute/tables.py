"""What is learned in one pass and read in the next. Tables only grow; when none has grown, the run is over.

[Note: passes] What a branch may do must be known before it is executed: whoever does not take it doubts that. Instead
of looking ahead, a root is executed again until nothing new is learned, which takes about three passes.
"""

import ast
from collections.abc import Hashable
from typing import Any, NamedTuple, TypeVar

from zerograd.core.events import Kind, Site
from zerograd.core.facts import NO_DOUBT, Doubts
from zerograd.source.execute.paths import Slot
from zerograd.source.heap.conditions import Asked, Counter, First, Last, Linear, Place, Synced, Test, equated
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.store import Key
from zerograd.source.heap.values import Value
from zerograd.source.project.index import Function

Branch = Hashable  # (a node, a context of calls, which arm)
T = TypeVar("T")
UNSTEADY = -99  # the increment of a counter that different paths move differently


class Count:
    """What is known of a counter."""

    __slots__ = ("increment", "is_asked", "length", "start")

    def __init__(self) -> None:
        self.start = Linear(None, 0)
        self.increment: int | None = None
        self.length: Linear | None = None  # how often its loop runs
        self.is_asked = False  # something depends on the increment

    def counts_by_one(self) -> bool:
        self.is_asked = True
        return self.increment == 1


class Leaves(NamedTuple):
    """What a backward leaves behind. None: nobody knows."""

    graph: bool | None = False  # retain_graph: what the graph has saved for another backward
    recorded: bool | None = False  # create_graph: the gradients have a graph themselves


class Deposit(NamedTuple):
    """A backward, as it was met."""

    function: Function | None
    value: Value
    optimizers: set[Obj]
    loops: tuple[Hashable, ...]
    what: str = ""
    divided_again: str = ""  # what the framework divides by that has divided the loss, as the program names it
    leaves: Leaves = Leaves()
    by: Obj | None = None  # the accelerator that goes backward


class Tables:
    def __init__(self) -> None:
        self.grown = False
        self.emitted: dict[Branch, dict[Slot, Doubts]] = {}  # what each branch does to each slot
        self.doubted: dict[Branch, dict[Slot, Doubts]] = {}  # what it may do, unseen
        self.changed: dict[Hashable, dict[Key, None]] = {}  # what each loop changes
        self.explored: set[Hashable] = set()  # loops of which that was found out in the first pass
        self.weighty: dict[Hashable, set[object]] = {}  # questions, with the places where they decide over events
        self.weighty_flags = 0  # questions among them that every write of a name answers
        self.mixed: set[Hashable] = set()  # questions of which the answers were forgotten: there were too many paths
        self.asked_of: set[int] = set()  # the values that weighty questions ask
        self.counts: dict[Counter, Count] = {}
        self.windows: dict[Counter, set[Place]] = {}  # the windows that each counter is asked its place in
        self.lengths: set[Hashable] = set()  # the values that are lengths of windows
        self.named: dict[Linear, str] = {}  # what the program calls the lengths of windows
        self.moduli: dict[int, Linear] = {}  # the constants by which remainders are taken, each by where it was written
        self.iterating: set[Hashable] = set()  # loops that end where what they go through does
        self.asking: dict[Place, set[Function | None]] = {}  # the functions that ask for a place
        self.decided: dict[Place, dict[Any, Any]] = {}  # the tests that ask for a place and decide over events
        self.firsts: dict[Counter, set[int]] = {}
        self.resets: set[Counter] = set()  # counters that are set back in their loop
        self.wraps: dict[Counter, Linear] = {}  # counters that begin again behind so many: n = (n + 1) % N
        self.unsteady: set[Counter] = set()  # counters that a micro-batch may leave where they are
        self.unset: dict[Key, Value] = {}  # what fields held that the program only changes
        self.counting: set[Key] = set()  # names that a loop counts up from a number nobody knows
        self.flags: set[Key] = set()  # names that a loop sets to yes or no
        self.owners: dict[Site, set[Obj]] = {}  # who steps next behind each backward
        self.clips_used: dict[Site, set[Obj]] = {}  # who may step next behind each clip
        self.deposits: dict[Site, Deposit] = {}  # of the last pass
        self.stepping: dict[Obj, set[tuple[Place, str]]] = {}  # at which place of which window each optimizer steps
        self.told: dict[Counter, int] = {}  # numbers that somebody else keeps, and that count the calls of a root
        self.in_turn: dict[Hashable, set[Obj]] = {}  # optimizers of which each iteration of a loop takes another one
        self.told_apart: set[Hashable] = set()  # loops that ask which iteration it is, and not only whether the last
        self.parted: set[Hashable] = set()  # loops whose iterations are the micro-batches of one batch
        self.shares: set[tuple[Linear, Hashable]] = set()  # numbers, and what they were divided by
        self.divided: set[tuple[int, Hashable]] = set()  # what is told of losses, and what it was divided by
        self.broken: set[Hashable] = set()  # loops that some iteration leaves by a break
        self.retries: set[Hashable] = set()  # loops that are left by a test of what they compute
        self.training: set[Hashable] = set()  # loops in which something goes backward; 0: anything does
        self.met_with: dict[Obj, set[frozenset[Obj]]] = {}  # the alternatives that an optimizer is met with
        self.active: set[Obj] = set()  # optimizers that step
        self.stepped_over: dict[Obj, set[Obj]] = {}  # the networks that accelerators were told around each step
        self.under: dict[tuple[Test, bool], dict[Slot, Doubts]] = {}  # what happens where a test was answered so
        self.stepped_under: dict[Slot, set[frozenset[tuple[Test, bool]]]] = {}  # how tests were answered at each step
        self.told_to_step: dict[Obj, set[Obj]] = {}  # given things that are handed something to step, and what
        self.volatile: set[Obj] = set()  # given things that are told something in a loop: what they say may change
        self.read: set[Obj] = set()  # optimizers whose rate or groups are read
        self.slopes_read: set[Obj] = set()  # leaves whose gradient is read by hand
        self.graded: set[Obj] = set()  # leaves of which somebody names the gradient
        self.shared: dict[Obj, set[Obj]] = {}  # to whom each region hands its gradient over: see [Note: sharing]
        self.handed_to: set[Obj] = set()  # optimizers that step those who are handed a gradient
        self.used_by_hand: set[Slot] = set()  # what is updated by hand, and stepped too: see [Note: hands]
        self.frozen_once: set[Obj] = set()  # regions that are frozen somewhere, or may be
        self.written: set[Obj] = set()  # regions whose weights the program writes itself, while it trains
        self.ran: dict[Obj, set[Hashable]] = {}  # the loops in which each network is run
        self.replaced: dict[Slot, Any] = {}  # what stands in the place of a network: see [Note: replaced]
        self.leaves: dict[int, Obj] = {}  # values that were told to take a gradient
        self.renamed: dict[Site, Any] = {}  # names of parameters that were given another tensor
        self.read_again: set[Site] = set()  # and where somebody reads that
        self.hooks: dict[Obj, Value] = {}  # what is called with all that a network computes
        self.asked_for_gradient: set[int] = set()  # tensors that are told to take a gradient, or may be
        self.keep_gradient: set[int] = set()  # tensors that keep one, leaf or not; or that somebody may have told to
        self.carried_on: dict[int, set[int]] = {}  # what values that were told from gradients are in the next iteration
        self.refused: set[Hashable] = set()  # values for which the program refuses all but a few constants
        self.refused_with: dict[Hashable, set[Test]] = {}  # the same, where one of these is answered yes
        self.slots: dict[Slot, None] = {}
        self.reads: dict[Obj, dict[tuple[ast.AST, Hashable], str]] = {}  # where each iterator is read to its end
        self.examined = False  # a tensor is compared in an assert outside loops: a test of gradients
        self.may_clear: bool | None = None  # a class of the project clears in its step; None: nobody has asked
        self.may_set_rates: bool | None = (
            None  # one that is no optimizer sets rates in its step; None: nobody has asked
        )
        self.plugins = False  # an accelerator is made that is told to leave things to others
        self.choices: dict[tuple[Any, Any], tuple[Site, str]] = {}  # where it is chosen what a `with` enters
        self.quiet = False  # some gradients are kept to the rank
        self.legacy = False  # written for a torch in which schedules moved first
        self.kinds = 0  # how often it was settled what given things are
        self.losses: set[Hashable] = set()  # loops in which a loss is computed; 0: anywhere

    def version(self) -> tuple[int, ...]:
        """What the values of a program depend on, beside its names: as long as it is the same, they are."""
        asked = sum(map(len, self.windows.values())) + sum(map(len, self.firsts.values())) + len(self.wraps)
        return (
            self.kinds,
            len(self.slots),
            len(self.flags),
            len(self.resets),
            len(self.volatile),
            asked,
            len(self.lengths),
            self.weighty_flags,
        )

    def add(self, table: set[T], item: T) -> None:
        if item not in table:
            table.add(item)
            self.grown = True

    def emits(self, branch: Branch, slot: Slot, kinds: Doubts, *, surely: bool) -> None:
        known = (self.emitted if surely else self.doubted).setdefault(branch, {})
        before = known.get(slot, NO_DOUBT)
        if not kinds <= before:
            known[slot] = before | kinds
            self.grown = True

    def has_events(self, loop: Hashable) -> bool:
        """Whether anything happens in a loop, or may: in others nobody asks which iteration it is."""
        return loop in self.emitted or loop in self.doubted

    def skipped(self, branch: Branch) -> dict[Slot, Doubts]:
        """What a branch may have done to each slot, for those who did not take it. A schedule steps nobody."""
        sure, maybe = self.emitted.get(branch, {}), self.doubted.get(branch, {})
        found = {slot: sure.get(slot, NO_DOUBT) | maybe.get(slot, NO_DOUBT) for slot in [*sure, *maybe]}
        return {slot: kinds if Kind.CONSUME in kinds else kinds - {Kind.SCHEDULE} for slot, kinds in found.items()}

    def does(self, branch: Hashable, slot: Slot) -> Doubts:
        found = self.emitted.get(branch)
        return found.get(slot, NO_DOUBT) if found else NO_DOUBT

    def weigh(self, question: Hashable, node: object) -> None:
        """An answer decides over events here. A pass must be begun anew only if it is to be kept from now on."""
        places = self.weighty.setdefault(question, set())
        if node in places:
            return
        what = question.what if isinstance(question, Asked) else ""
        if what == "flag" and not places:  # not a name: of a question
            self.weighty_flags += 1
        was_kept = self.keeps(question)
        places.add(node)
        if what in ("flag", "which"):  # not a name: of a question
            self.grown = self.grown or len(places) == 1
        elif isinstance(question, tuple) and question[:1] == ("==",):  # not a name: of all questions about one value
            self.grown = self.grown or len(places) == 2
        else:
            self.grown = self.grown or self.keeps(question) != was_kept

    def keeps(self, question: Any) -> bool:
        """Whether an answer is worth remembering. See [Note: weighty answers]."""
        return _is_kept(self, question)


def _is_kept(tables: Tables, question: Any) -> bool:
    if isinstance(question, Synced):
        return True
    places = tables.weighty.get(question)
    if isinstance(question, (Place, First, Last)):
        return places is not None
    if isinstance(question, Asked):
        if question.what == "flag":  # not a name: of a question
            return places is not None
        if question.what in ("<", "==") and ("k", 1) in question.of:
            bases = [one.base if isinstance(one, Linear) else one for one in question.of]
            return places is not None or not tables.lengths.isdisjoint(bases)
        equal = equated(question)
        if equal is not None and len(tables.weighty.get(("==", equal[0]), ())) > 1:
            return True
    return places is not None and len(places) > 1
