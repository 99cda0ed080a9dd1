"""Runs a skeleton for one slot: sets of facts through structured control flow.

The interpreter is run once per slot, so that what it carries is one set of facts. The findings over all branch choices
of the real program are exactly the findings of this walk: the transfer is the image of `advance`, join is union, and
loop heads are iterated to the least fixpoint (the lattice is finite).
"""

from ast import FunctionDef
from functools import partial

from zerograd.core.events import Kind
from zerograd.core.facts import (
    ALL_DOUBTS,
    NO_DOUBT,
    NOTHING_ASSUMED,
    NOWHERE,
    Assumptions,
    Doubts,
    Fact,
    Facts,
    doubt,
    join,
    reassume,
    skipping,
    slim,
)
from zerograd.core.judgement import Code
from zerograd.rules.rule import Rule
from zerograd.source.counting.indifferent import without_indifferent
from zerograd.source.counting.loops import runs_over
from zerograd.source.counting.said import forgetting, is_said
from zerograd.source.counting.tests import Test, assume, decide, places
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
    Node,
    leaves,
    refuses,
    with_rest,
)
from zerograd.source.names.scopes import Scope
from zerograd.source.walking.acting import Actor, Report
from zerograd.source.walking.carrying import behind, carried
from zerograd.source.walking.frames import CYCLE, BodyOf, Frames
from zerograd.source.walking.objectives import NOT_SHARED, Owned
from zerograd.source.walking.ways import Budget, Flow, TooMuch
from zerograd.source.walking.windows import begin, decide_place, left, turn

_SCHEDULE, _DEPOSIT = frozenset({Kind.SCHEDULE}), frozenset({Kind.DEPOSIT})
_STEPPED: Doubts = skipping(frozenset({Kind.CONSUME}))
_MOST = 64  # facts that are carried along
_NO_WAY = Flow()
_Answers = dict[Assumptions, bool | None]
_INNER = (Choice, Loop, Attempt)
_WAYS = {"break": "breaks", "continue": "continues", "return": "returns", "raise": "raises"}
_SIMPLE = (Act, Create, Blur, Forget)  # they have one way out


class Interpreter(Actor):
    """One slot of one function. Calls run their functions in place, under the same lift (see frames.py for `body_of`
    and `cls`)."""

    def __init__(
        self,
        slot: str,
        *,
        alone: bool,
        laws: Code[Rule],
        report: Report,
        body_of: BodyOf = lambda function: (),
        budget: "Budget | None" = None,
        cls: Scope | None = None,
        owned: Owned = NOT_SHARED,
    ) -> None:
        frames = Frames(slot, body_of, cls, owned.modules, alone=alone)
        super().__init__(slot, alone=alone, laws=laws, report=report, frames=frames, owned=owned)
        self._returned: dict[tuple[object, ...], Flow] = {}
        self._rests: dict[tuple[int, int], tuple[Block, Choice]] = {}
        self._budget = budget or Budget()
        self._trying = 0
        self._known: dict[tuple[object, ...], tuple[Flow, int]] = {}
        self._first = 0  # what functions have cost that were run for the first time
        self._place = 0  # which loops and calls we are in
        self._places: dict[tuple[int, int, Assumptions], int] = {}

    def block(self, block: Block, facts: Facts) -> Flow:
        out = _NO_WAY  # those that lead out before the end
        for position, node in enumerate(block):
            if not facts:
                break
            if not self._trying and isinstance(node, _SIMPLE):
                facts = self._after(node, facts)
                continue
            if isinstance(node, Choice) and leaves(node.body) != leaves(node.orelse):
                if not self._trying and refuses(node):
                    continue
                # `if bad: continue` makes the rest of the block the other arm.
                return out.then(self._walked(self._with_rest(node, block, position), facts))
            out = out.then(self._node(node, facts))
            facts = out.normal
        if out is _NO_WAY:
            return Flow(facts)
        return out if facts is out.normal else Flow(facts, *out[1:])

    def _node(self, node: Node, facts: Facts) -> Flow:
        if isinstance(node, _SIMPLE):  # inside a try: an exception may strike before an event or behind it
            after = self._after(node, facts)
            strikes = join(facts, after) if isinstance(node, Act) else after if isinstance(node, Blur) else NOWHERE
            return Flow(after, raises=strikes)
        if isinstance(node, _INNER) and self._frames.is_idle(node):
            return Flow(facts, raises=facts if self._trying else NOWHERE)
        self._budget.spend(len(facts))
        if isinstance(node, Jump):
            return Flow(**{_WAYS[node.to]: facts})
        return self._walked(node, facts)

    def _walked(self, node: Call | Choice | Loop | Attempt, facts: Facts) -> Flow:
        """What was walked before, with the same facts and from the same place, is not walked again: it is paid for, so
        that a tangle ends as early as ever, but for the functions that were run for the first time."""
        key = (id(node), self._place, self._trying > 0, facts)
        known = self._known.get(key)
        if known is None:
            before = self._budget.left + self._first
            flow = self._walk(node, facts)
            self._known[key] = flow, before - self._budget.left - self._first
            return flow
        self._budget.pay(known[1])
        return known[0]

    def _walk(self, node: Call | Choice | Loop | Attempt, facts: Facts) -> Flow:
        match node:
            case Call():
                return self._call(node, facts)
            case Choice():
                return self._choice(node, facts)
            case Loop():
                return self._loop(node, facts)
            case Attempt():
                return self._attempt(node, facts)

    def _after(self, node: Act | Create | Blur | Forget, facts: Facts) -> Facts:
        """What is known behind a node that has one way out."""
        self._budget.spend(len(facts))
        if isinstance(node, Act):
            return self.act(node, facts)
        if isinstance(node, Create):
            # On an occasion of its own in the loop that steps: the loop goes on, and steps with the new one.
            aside = bool(self._loops) and Kind.CONSUME in self._loops[-1] and node not in self._windows[-1].body
            doubts = _STEPPED if aside else NO_DOUBT
            old = ALL_DOUBTS if node.inside else NO_DOUBT  # the models of a new object may be old: their doubts stay
            anew = (Fact(doubts=doubts | (fact.doubts & old), assumed=fact.assumed) for fact in facts)
            return slim(anew) if node.slot in self._frames.names else facts
        if isinstance(node, Blur):
            return doubt(facts, node.kinds) if self._frames.hits(node.slot) else facts
        return reassume(facts, lambda assumed: forgetting(assumed, node.keys) | node.learned)

    def _with_rest(self, choice: Choice, block: Block, position: int) -> Choice:
        """The choice with what follows it as a part of the arm that does not jump away. Made once: what is known of a
        block is known by its identity."""
        key = id(block), position
        if key not in self._rests:
            self._rests[key] = block, with_rest(choice, block[position + 1 :])
        return self._rests[key][1]

    def _choice(self, choice: Choice, facts: Facts) -> Flow:
        body, orelse, test = choice.body, choice.orelse, choice.test
        known = None if test is None else {assumed: decide(test, assumed) for assumed in {fact[2] for fact in facts}}
        return self._arm(test, True, body, orelse, facts, known).beside(
            self._arm(test, False, orelse, body, facts, known)
        )

    def _arm(
        self, test: Test | None, answer: bool, arm: Block, other: Block, facts: Facts, known: _Answers | None
    ) -> Flow:
        """Take one arm. What the other would have done is doubted, unless the place in a window decides: that comes
        round again. `known`: how the test is answered by what each fact assumes."""
        missed = self.skipped(arm, other, None if answer else test)
        if known is None:
            entering = doubt(facts, missed)
        else:
            by_place = missed and decide_place(test)
            sure = {one for one, said in known.items() if said is not None and (by_place or is_said(test, one))}
            told = {one: assume(test, answer, one) if said is None else one for one, said in known.items()}
            entering = slim(
                Fact(state, doubts if assumed in sure else doubts | missed, told[assumed])
                for state, doubts, assumed in facts
                if known[assumed] is not (not answer)
            )
        if len(entering) > _MOST:  # too many questions at once
            entering = without_indifferent(entering)
            if len(entering) > _MOST:  # with fewer answers, paths that nobody takes would be taken for certain
                raise TooMuch
        return self.block(arm, entering) if entering else Flow()

    def _call(self, call: Call, facts: Facts) -> Flow:
        kinds, call = self._frames.kinds_of_call(call), self._frames.run_by(call)
        if not kinds or self._frames.is_closed(call):
            after = doubt(facts, ALL_DOUBTS) if kinds else facts
            return Flow(after, raises=after if self._trying else NOWHERE)
        # What the caller knows holds in the callee under the callee's names; what the callee learns stays there.
        flow = Flow()
        alike: dict[Assumptions, list[Fact]] = {}
        for fact in facts:
            alike.setdefault(fact.assumed, []).append(fact)
        outer, clears = self._at, bool(self._turning) and Kind.CLEAR in kinds
        for assumed, these in alike.items():
            self._at = outer | places(assumed) if clears else NOTHING_ASSUMED
            known = carried(call, assumed)
            entering = these if known == assumed else [Fact(state, doubts, known) for state, doubts, _ in these]
            inner = self._run(call, frozenset(entering))
            later = partial(behind, call, assumed)
            flow = flow.beside(Flow(reassume(inner.normal, later), raises=reassume(inner.raises, later)))
        self._at = outer
        return flow

    def _run(self, call: Call, facts: Facts) -> Flow:
        frames, place = self._frames, self._enter(call)
        frames.enter(call)
        key = (call.function, frames.names, frames.modules, frames.cls, facts, self._at, self._trying > 0)
        if key not in self._returned:
            before = self._budget.left + self._first
            inner = self.block(frames.body_of(call.function), facts)
            self._first = before - self._budget.left
            ended = join(inner.normal, inner.returns)
            self._returned[key] = Flow(ended, raises=inner.raises if self._trying else NOWHERE)
        frames.leave()
        self._place = place
        return self._returned[key]

    def _enter(self, node: Call | Loop) -> int:
        """Be inside; returns where we were."""
        place = self._place
        self._place = self._places.setdefault((place, id(node), self._at), len(self._places) + 1)
        return place

    def _loop(self, loop: Loop, facts: Facts) -> Flow:
        if self._frames.is_one_of(loop.each):
            once = self.block(loop.body, facts)
            after = self.block(loop.orelse, join(once.normal, once.continues))
            return Flow(once.breaks, returns=once.returns, raises=once.raises).beside(after)
        kinds = self._frames.kinds(loop.body)
        seen = self._frames.kinds(loop.body, seen=True)
        # `for scheduler in schedulers` is a step of the loop around it, and so is training another for a while.
        feeds = Kind.DEPOSIT in seen and Kind.CONSUME not in kinds
        passing = runs_over(loop.node, "sched") if kinds == _SCHEDULE else feeds
        self.turn_into(loop, self._loops[-1] if passing and self._loops else kinds)
        place = self._enter(loop)
        # What a function that is called once per batch leaves undone, its caller may do.
        undone = CYCLE - seen if isinstance(loop.node, FunctionDef) else NO_DOUBT
        out, back = Flow(), NOWHERE
        head = new = begin(loop, facts)
        while new:  # the lift distributes over union: what was walked once need not be walked again
            once = self.block(loop.body, new)
            if once.breaks or once.returns or once.raises:
                out = out.beside(Flow(NOWHERE, once.breaks, NOWHERE, once.returns, once.raises))
            came = doubt(turn(loop, join(once.normal, once.continues)), undone)
            grown = join(head, came)
            head, new, back = grown, grown - head, join(back, came)
        self.turn_out_of(loop)
        self._place = place
        # That the loop ran not even once is possible, but doubtful; so is an end in the middle of a window.
        never = NOWHERE if loop.runs else doubt(facts, kinds)
        after = self.block(loop.orelse, NOWHERE if loop.endless else join(left(loop, back, kinds, self._frames), never))
        breaks = left(loop, out.breaks, kinds, self._frames)
        returns, raises = join(out.returns, after.returns), join(out.raises, after.raises)
        return Flow(join(after.normal, breaks), after.breaks, after.continues, returns, raises)

    def _attempt(self, attempt: Attempt, facts: Facts) -> Flow:
        self._trying += 1
        tried = self.block(attempt.body, facts)
        self._trying -= 1
        caught = doubt(join(facts, tried.raises), does := self._frames.kinds(attempt.body))
        flow = tried._replace(raises=NOWHERE).then(self.block(attempt.orelse, tried.normal))
        for handler in attempt.handlers:
            # It may give the iteration up, as an early `continue` does; or tell others that nothing was deposited.
            flow = flow.beside(self.block(handler, doubt(caught, self.skipped(handler, ()))).doubting(does & _DEPOSIT))
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
