"""Runs a skeleton for one slot: sets of facts through structured control flow.

The interpreter is run once per slot, so that what it carries is one set of facts. The findings over all branch choices
of the real program are exactly the findings of this walk: the transfer is the image of `advance`, join is union, and
loop heads are iterated to the least fixpoint (the lattice is finite).

[Note: unattributed deposits] `loss.backward()` does not say whose gradients it fills. It is read as a deposit into
every slot. That is safe, because faults are judged when a step consumes: on an empty slot it silences ZG003; on a spent
one, a step with no clear in between is at fault whether the deposit reached it (stale) or not (repeated).
"""

from collections.abc import Callable
from typing import NamedTuple

from zerograd.core.events import Event, Kind
from zerograd.core.facts import CLEAN, NOWHERE, Doubts, Facts, doubt, join, lift, lift_weak
from zerograd.core.judgement import Trail, Verdict, judge
from zerograd.rules.rule import Rule
from zerograd.source.skeleton import Act, Attempt, Block, Blur, Choice, Create, Jump, Loop, Node, acts, leaves

CYCLE: Doubts = frozenset({Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR})
_UPDATE: Doubts = frozenset({Kind.DEPOSIT, Kind.CONSUME})
Report = Callable[[Verdict[Rule]], None]


class Flow(NamedTuple):
    """The facts with which a block may be left, by the way it is left."""

    normal: Facts = NOWHERE
    breaks: Facts = NOWHERE
    continues: Facts = NOWHERE
    returns: Facts = NOWHERE
    raises: Facts = NOWHERE

    def then(self, after: "Flow") -> "Flow":
        """This block, and after its normal end that one."""
        return Flow(after.normal, *(join(mine, its) for mine, its in zip(self[1:], after[1:], strict=True)))

    def beside(self, other: "Flow") -> "Flow":
        return Flow(*(join(mine, its) for mine, its in zip(self, other, strict=True)))


class Interpreter:
    """One slot of one function. `alone`: the slot is the only one there is, so that whatever is cleared is its own."""

    def __init__(self, slot: str, *, alone: bool, rules: tuple[Rule, ...], report: Report) -> None:
        self._slot = slot
        self._alone = alone
        self._rules = rules
        self._report = report
        self._kinds: dict[int, tuple[Block, Doubts]] = {}
        self._trying = 0
        self.trail = Trail(latest=False)

    # What a node means for this slot

    def kinds(self, block: Block) -> Doubts:
        """The kinds of event that `block` may do to the slot."""
        memo = self._kinds.get(id(block))
        if memo is None or memo[0] is not block:
            found: set[Kind] = set()
            for act in acts(block):
                match act:
                    case Act(kind=kind, slot=slot) if slot in (None, self._slot):
                        found.add(kind)
                    case Blur(kinds=kinds, slot=slot) if slot in (None, self._slot):
                        found |= kinds
            memo = self._kinds[id(block)] = (block, frozenset(found))
        return memo[1]

    def _act(self, act: Act, facts: Facts) -> Facts:
        if act.slot not in (None, self._slot):
            return facts
        event = Event(act.kind, self._slot, act.site, act.scaled, act.what)
        weak = act.slot is None and act.kind is not Kind.DEPOSIT and not self._alone
        for verdict in judge(facts, event, self._rules, weak=weak):
            self._report(verdict)
        for fact in facts:
            self.trail.follow(fact.state, event)
        return lift_weak(facts, event) if weak else lift(facts, event)

    # Control flow

    def block(self, block: Block, facts: Facts) -> Flow:
        flow = Flow(facts)
        for position, node in enumerate(block):
            if not flow.normal:
                break
            if isinstance(node, Choice) and leaves(node.body) != leaves(node.orelse):
                # `if bad: continue` makes the rest of the block the other arm.
                rest = block[position + 1 :]
                body, orelse = (
                    (node.body, (*node.orelse, *rest)) if leaves(node.body) else ((*node.body, *rest), node.orelse)
                )
                return flow.then(self._choice(body, orelse, flow.normal))
            flow = flow.then(self._node(node, flow.normal))
        return flow

    def _node(self, node: Node, facts: Facts) -> Flow:
        match node:
            case Act():
                after = self._act(node, facts)
                # Inside a try an exception may strike before the event or behind it.
                return Flow(after, raises=join(facts, after) if self._trying else NOWHERE)
            case Create(slot):
                return Flow(CLEAN if slot == self._slot else facts)
            case Blur(kinds, slot):
                after = doubt(facts, kinds) if slot in (None, self._slot) else facts
                return Flow(after, raises=after if self._trying else NOWHERE)
            case Choice(body, orelse):
                return self._choice(body, orelse, facts)
            case Loop():
                return self._loop(node, facts)
            case Attempt():
                return self._attempt(node, facts)
            case Jump("break"):
                return Flow(breaks=facts)
            case Jump("continue"):
                return Flow(continues=facts)
            case Jump("return"):
                return Flow(returns=facts)
            case Jump():
                return Flow(raises=facts)

    def _choice(self, body: Block, orelse: Block, facts: Facts) -> Flow:
        taken = self.block(body, doubt(facts, self.skipped(body, orelse)))
        return taken.beside(self.block(orelse, doubt(facts, self.skipped(orelse, body))))

    def skipped(self, arm: Block, other: Block) -> Doubts:
        """The doubts one earns by taking `arm` and not `other`."""
        mine, its = self.kinds(arm), self.kinds(other)
        # An arm that feeds and takes a step of its own has skipped nothing: it is another way to train.
        missed = frozenset() if mine >= _UPDATE else its - mine
        # Leaving early skips what comes later, wherever that stands.
        return missed | (CYCLE - mine) if leaves(arm) and not leaves(other) else missed

    def _loop(self, loop: Loop, facts: Facts) -> Flow:
        if loop.each == self._slot:
            once = self.block(loop.body, facts)
            after = self.block(loop.orelse, join(once.normal, once.continues))
            return Flow(once.breaks, returns=once.returns, raises=once.raises).beside(after)
        head, left = facts, Flow()
        while True:
            once = self.block(loop.body, head)
            left = left.beside(once._replace(normal=NOWHERE, continues=NOWHERE))
            back = join(once.normal, once.continues)
            grown = join(head, back)
            if grown == head:
                break
            head = grown
        # That the loop ran not even once is possible, but doubtful.
        done = NOWHERE if loop.endless else join(back, doubt(facts, self.kinds(loop.body)))
        after = self.block(loop.orelse, done)
        return Flow(join(after.normal, left.breaks), after.breaks, after.continues).beside(
            Flow(returns=join(left.returns, after.returns), raises=join(left.raises, after.raises))
        )

    def _attempt(self, attempt: Attempt, facts: Facts) -> Flow:
        self._trying += 1
        tried = self.block(attempt.body, facts)
        self._trying -= 1
        caught = doubt(join(facts, tried.raises), self.kinds(attempt.body))
        flow = tried._replace(raises=NOWHERE).then(self.block(attempt.orelse, tried.normal))
        for handler in attempt.handlers:
            flow = flow.beside(self.block(handler, caught))
        if not attempt.catches_all:
            flow = flow.beside(Flow(raises=join(facts, tried.raises)))
        return self._finally(attempt.final, flow) if attempt.final else flow

    def _finally(self, final: Block, flow: Flow) -> Flow:
        """Every way out leads through `final`, and goes on as it was unless `final` itself jumps."""
        out = Flow()
        for way, facts in zip(Flow._fields, flow, strict=True):
            if facts:
                after = self.block(final, facts)
                out = out.beside(after._replace(normal=NOWHERE)).beside(Flow(**{way: after.normal}))
        return out
