"""One function, walked for one slot: as anybody may call it, again and again; law by law where it is a tangle."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.facts import NOWHERE, Doubts, Facts, doubt, join, reassume
from zerograd.core.judgement import Code, Verdict
from zerograd.rules.rule import Rule
from zerograd.source.counting.tests import places
from zerograd.source.lowering.skeleton import Block
from zerograd.source.names.scopes import Scope
from zerograd.source.walking.flow import Interpreter
from zerograd.source.walking.focus import Focus
from zerograd.source.walking.frames import BodyOf
from zerograd.source.walking.objectives import Owned
from zerograd.source.walking.ways import Budget, TooMuch

# What each part of the laws asks for, once all of them together are too much.
PARTS: tuple[tuple[Doubts, frozenset[str]], ...] = ((frozenset(Kind) - {Kind.SCHEDULE}, frozenset({"ZG107"})),)


class Walk(NamedTuple):
    interpreter: Interpreter
    block: Block  # as it was walked
    verdicts: list[Verdict[Rule]]


class Walker(NamedTuple):
    """`entry`: what is known where the function begins; `undone`: what a caller may do between two calls, None where
    there is one call only."""

    slot: str
    alone: bool
    owned: Owned
    cls: Scope | None
    body_of: BodyOf
    entry: Facts
    undone: Callable[[Interpreter, Block], Doubts] | None

    def walks(self, block: Block, laws: Code[Rule], budget: Budget) -> Iterator[Walk]:
        """One walk, if it comes to an end; none where no law can be broken."""
        whole = self._begin(laws, self.body_of, budget, block)
        if not whole.interpreter.may_fault(block, again=self.undone is not None):
            return
        if self._goes_through(whole):
            yield whole
            return
        budget.renew()
        yield whole._replace(verdicts=[])  # of a walk that was not finished, nothing is certain
        # What is no optimizer by its name may be none at all: a walk that was not finished has never said so.
        for kinds, codes in PARTS if "opt" in self.slot.lower() else ():
            own = budget.part()
            focus = Focus(block, kinds, self.body_of)
            some = Code(law for law in laws.laws if law.code in codes)
            part = self._begin(some, focus.body_of, own, focus.block)
            if not own.is_spent and self._goes_through(part):
                yield part
            budget.spend_on(own)

    def _begin(self, laws: Code[Rule], body_of: BodyOf, budget: Budget, block: Block) -> Walk:
        verdicts: list[Verdict[Rule]] = []
        interpreter = Interpreter(
            self.slot,
            alone=self.alone,
            laws=laws,
            report=verdicts.append,
            body_of=body_of,
            budget=budget,
            cls=self.cls,
            owned=self.owned,
        )
        return Walk(interpreter, block, verdicts)

    def _goes_through(self, walk: Walk) -> bool:
        """Whether the walk comes to an end, where another call brings nothing new."""
        interpreter, block, _ = walk
        head = new = self.entry
        try:
            while new:
                flow = interpreter.block(block, new)
                undone = self.undone(interpreter, block) if self.undone is not None else frozenset[Kind]()
                back = doubt(join(flow.normal, flow.returns), undone)
                # The settings of one call are those of the next; a place in a window is not.
                grown = join(head, reassume(back, lambda assumed: assumed - places(assumed)))
                head, new = grown, grown - head if self.undone is not None else NOWHERE
        except TooMuch:
            return False
        return True
