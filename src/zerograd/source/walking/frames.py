"""The calls we are in, seen from one slot: what each function calls it, and what a block may do to it there."""

from collections.abc import Callable
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.facts import ALL_DOUBTS, NO_DOUBT, Doubts, skipping
from zerograd.source.lowering.skeleton import (
    Act,
    Attempt,
    Block,
    Blur,
    Call,
    Choice,
    Create,
    Forget,
    Jump,
    Loop,
    blocks_of,
    leaves,
)
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.patterns import pattern

BodyOf = Callable[[Function], Block]
_Frame = tuple[frozenset[str], frozenset[str], Scope | None, int]  # names, modules, class, and their number
CYCLE: Doubts = frozenset({Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR})
_UPDATE: Doubts = frozenset({Kind.DEPOSIT, Kind.CONSUME})
_DEPTH = 5
_MOVES = (Jump, Forget, Create)
_KEY = pattern(r"\[([^\]]*)\]")


class _Done(NamedTuple):
    """What a block may do."""

    kinds: Doubts
    seen: Doubts  # those that the text shows
    moves: bool  # whether it leads away, or changes what is known


_NOTHING = _Done(NO_DOUBT, NO_DOUBT, moves=False)
_ANYTHING = _Done(ALL_DOUBTS, NO_DOUBT, moves=False)  # what is not looked into


class Frames:
    """`body_of` gives the skeleton of a function of the project. `cls` is the class of `self`, whose overrides are what
    its methods call."""

    def __init__(
        self, slot: str, body_of: BodyOf, cls: Scope | None, modules: frozenset[str], *, alone: bool = False
    ) -> None:
        self.names: frozenset[str] = frozenset({slot})  # what the function we are in calls the slot
        self.modules = modules  # and those whose parameters it holds
        self.cls = cls
        self.body_of = body_of
        self._alone = alone  # it is the only slot there is: a module that is cleared may be its own by another name
        self._numbers: dict[tuple[frozenset[str], frozenset[str], Scope | None], int] = {}  # of what may differ
        self.here = self._number()  # where we are, as far as it matters to what a block may do
        # What is known is known by identity: the program keeps its blocks, and a block of our own is kept here.
        self._done: dict[tuple[int, int], tuple[Block, _Done]] = {}
        self._idle: dict[tuple[int, int], bool] = {}
        self._called: dict[tuple[int, int], _Done] = {}
        self._run_by: dict[tuple[int, Scope | None], Call] = {}
        self._frames: dict[tuple[int, int], _Frame] = {}
        self._abstract: dict[Function, bool] = {}
        self._calling: list[Function] = []
        self._callers: list[_Frame] = []
        self.through: tuple[Site | None, ...] = ()  # where those were called

    def hits(self, slot: str | None) -> bool:
        """Whether an event at `slot` is one at ours. A wrapper and the optimizer inside it are one slot: whichever of
        `opt` and `opt.optimizer` is stepped or cleared, the same gradients are. And what happens to all of a container
        happens to each that it has by name."""
        if slot is None or slot in self.names:
            return True
        return any(slot.startswith(f"{name}.") or name.startswith((f"{slot}.", f"{slot}['")) for name in self.names)

    def _may_hit(self, act: Act) -> bool | None:
        """None if a slot is one of several and ours may be that one, by its key: opts[*] and opts['D']; else False. A
        clear may also be meant by another name: opts[*] and opt."""
        slot, clears = act.slot or "", act.kind is Kind.CLEAR
        chosen = any(_may_be(slot, name) or (clears and _may_list(slot, name)) for name in self.names)
        return None if slot and chosen else False

    def is_one_of(self, each: frozenset[str]) -> bool:
        """Whether the slot is another one in every iteration of a loop over these, or is a part of what is."""
        return any(name == one or name.startswith((f"{one}.", f"{one}[")) for one in each for name in self.names)

    def touches(self, act: Act) -> bool | None:
        """Whether an event is one at our slot; None: it may be. Two optimizers over one module share their clears."""
        if act.probes and act.kind is not Kind.DEPOSIT:
            return False
        if act.kind is not Kind.CLEAR or not act.reaches or act.slot in self.names:
            return self.hits(act.slot) or self._may_hit(act)
        if not self.modules:
            return None if act.of_module else self.hits(act.slot) or self._may_hit(act)
        shares = any(_overlap(one, other) for one in act.reaches for other in self.modules)
        return None if shares else act.slot is not None and self.hits(act.slot)

    def kinds(self, block: Block, *, seen: bool = False) -> Doubts:
        """The kinds of event that `block` may do to the slot; `seen`: without those that no text shows."""
        if not block:
            return NO_DOUBT
        done = self._done_by(block)
        return done.seen if seen else done.kinds

    def skipped(self, arm: Block, other: Block) -> Doubts:
        """The doubts one earns by taking `arm` and not `other`."""
        mine, its = self.kinds(arm, seen=True), self.kinds(other)
        # An arm that feeds and takes a step of its own has skipped nothing: it is another way to train.
        missed = NO_DOUBT if mine >= _UPDATE else its - mine
        # Leaving early skips what comes later, wherever that stands.
        return skipping(missed | (CYCLE - mine) if leaves(arm) and not leaves(other) else missed)

    def is_idle(self, node: Choice | Loop | Attempt) -> bool:
        """Whether nothing in there concerns the slot: no event, no way out, nothing that is made, learned or forgotten.
        Most branches of a training script are about something else."""
        key = (id(node), self.here)
        idle = self._idle.get(key)
        if idle is None:
            idle = self._idle[key] = self._read((node,)) is _NOTHING
        return idle

    def _done_by(self, block: Block) -> _Done:
        key = (id(block), self.here)
        memo = self._done.get(key)
        if memo is None:
            memo = self._done[key] = block, self._read(block)
        return memo[1]

    def _read(self, block: Block) -> _Done:
        kinds: set[Kind] = set()
        seen: set[Kind] = set()
        moves = False
        for node in block:
            if isinstance(node, Act):
                if self.touches(node) is not False or (self._alone and node.of_module):
                    kinds.add(node.kind)
                    seen.add(node.kind)
            elif isinstance(node, Blur):
                kinds |= node.kinds if self.hits(node.slot) else NO_DOUBT
            elif isinstance(node, _MOVES):
                moves = True
            else:
                moves = moves or (isinstance(node, Loop) and node.endless)
                parts = [self._of_call(node)] if isinstance(node, Call) else map(self._done_by, blocks_of(node))
                for part in parts:
                    kinds |= part.kinds
                    seen |= part.seen
                    moves = moves or part.moves
        return _Done(frozenset(kinds), frozenset(seen), moves) if kinds or moves else _NOTHING

    def kinds_of_call(self, call: Call) -> Doubts:
        """The same of what a call in the text runs."""
        return self._of_call(call).kinds

    def _of_call(self, call: Call) -> _Done:
        run = self.run_by(call)
        if self.is_closed(run):
            return _ANYTHING
        key = (id(call), self.here)
        memo = self._called.get(key)
        if memo is None:
            self.enter(run)
            done = self._done_by(self.body_of(run.function))
            self.leave()
            memo = self._called[key] = _Done(done.kinds, done.seen, moves=False)
        return memo

    def run_by(self, call: Call) -> Call:
        """The call that one in the text is, where `self` is of the class we are in."""
        key = (id(call), self.cls)
        run = self._run_by.get(key)
        if run is None:
            run = self._run_by[key] = call.on(self.cls)
        return run

    def enter(self, call: Call) -> None:
        """Be in the called function: other names for the slot, and no way back into it."""
        self._callers.append((self.names, self.modules, self.cls, self.here))
        self._calling.append(call.function)
        self.through += (call.site,)
        key = (id(call), self.here)
        frame = self._frames.get(key)
        if frame is None:
            self.names, self.modules, self.cls = call.names(self.names), call.names(self.modules), call.cls
            frame = self._frames[key] = (self.names, self.modules, self.cls, self._number())
        self.names, self.modules, self.cls, self.here = frame

    def leave(self) -> None:
        """Be back. Whatever ends the walk before that ends all use of these frames."""
        self._calling.pop()
        self.through = self.through[:-1]
        self.names, self.modules, self.cls, self.here = self._callers.pop()

    @property
    def is_outermost(self) -> bool:
        return not self._calling

    def _number(self) -> int:
        """Shorter than the names themselves."""
        return self._numbers.setdefault((self.names, self.modules, self.cls), len(self._numbers))

    def is_closed(self, call: Call) -> bool:
        """Whether a call is not looked into: it calls itself, is too deep, or stands for what a subclass does."""
        function = call.function
        if function not in self._abstract:
            self._abstract[function] = function.is_abstract
        return self._abstract[function] or function in self._calling or len(self._calling) >= _DEPTH


def _may_be(one: str, other: str) -> bool:
    """Whether two paths are alike but for keys that one of them leaves open."""
    if "[*]" not in one and "[*]" not in other:
        return False
    parts = list(zip(_KEY.split(one), _KEY.split(other), strict=False))
    alike = all(
        its == theirs or (position % 2 and "*" in (its, theirs)) for position, (its, theirs) in enumerate(parts)
    )
    return alike and one.count("[") == other.count("[")


def _may_list(one: str, other: str) -> bool:
    """Whether one is a list of whatever optimizers, and the other has a name of its own."""
    return (one.endswith("[*]") and "[" not in other) or (other.endswith("[*]") and "[" not in one)


def _overlap(one: str, other: str) -> bool:
    """Whether one module is the other, or inside it."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
