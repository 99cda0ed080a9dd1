"""The calls we are in, seen from one slot: what each function calls it, and what a block may do to it there."""

import re
from collections.abc import Callable

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, NO_DOUBT, Doubts
from zerograd.source.scopes import Function, Scope
from zerograd.source.skeleton import Act, Attempt, Block, Blur, Call, Choice, Create, Forget, Jump, Loop, Node, walk

BodyOf = Callable[[Function], Block]
_DEPTH = 5
_KEY = re.compile(r"\[([^\]]*)\]")


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
        self._here = self._number()
        self._kinds: dict[tuple[int, int, bool], tuple[Block | Call, Doubts]] = {}
        self._idle: dict[tuple[int, int], tuple[Node, bool]] = {}
        self._run_by: dict[tuple[int, Scope | None], tuple[Call, Call]] = {}
        self._calling: list[Function] = []
        self._callers: list[tuple[frozenset[str], frozenset[str], Scope | None, int]] = []

    def hits(self, slot: str | None) -> bool:
        """Whether an event at `slot` is one at ours. A wrapper and the optimizer inside it are one slot: whichever of
        `opt` and `opt.optimizer` is stepped or cleared, the same gradients are."""
        if slot is None or slot in self.names:
            return True
        return any(slot.startswith(f"{name}.") or name.startswith(f"{slot}.") for name in self.names)

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
        key = (id(block), self._here, seen)
        memo = self._kinds.get(key)
        if memo is None or memo[0] is not block:
            found: set[Kind] = set()
            for node in walk(block):
                match node:
                    case Act(kind=kind) if self.touches(node) is not False or (self._alone and node.of_module):
                        found.add(kind)
                    case Blur(kinds=kinds, slot=slot) if self.hits(slot) and not seen:
                        found |= kinds
                    case Call():
                        found |= self.kinds_of_call(node, seen=seen)
            memo = self._kinds[key] = (block, frozenset(found))
        return memo[1]

    def is_idle(self, node: Choice | Loop | Attempt) -> bool:
        """Whether nothing in there concerns the slot: no event, no way out, nothing that is made, learned or forgotten.
        Most branches of a training script are about something else."""
        key = (id(node), self._here)
        memo = self._idle.get(key)
        if memo is None or memo[0] is not node:
            whole: Block = (node,)
            memo = self._idle[key] = (node, not any(map(_moves, walk(whole))) and not self.kinds(whole))
        return memo[1]

    def kinds_of_call(self, call: Call, *, seen: bool = False) -> Doubts:
        """The same of what a call in the text runs."""
        run = self.run_by(call)
        if self.is_closed(run):
            return frozenset() if seen else ALL_DOUBTS
        key = (id(call), self._here, seen)
        memo = self._kinds.get(key)
        if memo is None or memo[0] is not call:
            self.enter(run)
            kinds = self.kinds(self.body_of(run.function), seen=seen)
            self.leave()
            memo = self._kinds[key] = (call, kinds)
        return memo[1]

    def run_by(self, call: Call) -> Call:
        """The call that one in the text is, where `self` is of the class we are in."""
        key = (id(call), self.cls)
        memo = self._run_by.get(key)
        if memo is None or memo[0] is not call:
            memo = self._run_by[key] = (call, call.on(self.cls))
        return memo[1]

    def enter(self, call: Call) -> None:
        """Be in the called function: other names for the slot, and no way back into it."""
        self._callers.append((self.names, self.modules, self.cls, self._here))
        self._calling.append(call.function)
        self.names, self.modules, self.cls = call.names(self.names), call.names(self.modules), call.cls
        self._here = self._number()

    def leave(self) -> None:
        """Be back. Whatever ends the walk before that ends all use of these frames."""
        self._calling.pop()
        self.names, self.modules, self.cls, self._here = self._callers.pop()

    def _number(self) -> int:
        """Where we are, as far as it matters to what a block may do: shorter than the names themselves."""
        return self._numbers.setdefault((self.names, self.modules, self.cls), len(self._numbers))

    def is_closed(self, call: Call) -> bool:
        """Whether a call is not looked into: it calls itself, is too deep, or stands for what a subclass does."""
        return call.function in self._calling or len(self._calling) >= _DEPTH or call.function.is_abstract


def _moves(node: Node) -> bool:
    """Whether a node leads away, or changes what is known."""
    return isinstance(node, Jump | Forget | Create) or (isinstance(node, Loop) and node.endless)


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
