"""Whose step a backward is meant for, where several optimizers share a loop.

A deposit serves the optimizers that step next behind it, before anything else is deposited, and those that were cleared
right before it; where that leaves several, a name may decide. A deposit that is proved to reach a slot's modules and
serves others only is another objective's: it spills into the slot.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.facts import NOTHING_ASSUMED, Assumptions
from zerograd.source.counting.losses import loss_of
from zerograd.source.counting.tests import Atom, assume, decide
from zerograd.source.lowering.skeleton import Act, Attempt, Block, Call, Choice, Loop
from zerograd.source.names.scopes import Function
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.stems import is_of, named_for

_DEPTH = 3
_JUDGES = pattern(r"loss|crit|bce|mse|l1", re.IGNORECASE)  # a criterion belongs to nobody
_TURNS = (Kind.DEPOSIT, Kind.CONSUME, Kind.CLEAR)
_MOST = 500  # acts, those of calls counted in place: beyond that a block is a tangle, and nothing is said of it


class Deposit(NamedTuple):
    """One backward: the modules it is proved to fill, and the optimizers that it is meant for."""

    reaches: frozenset[str]
    serves: frozenset[str]
    beside: frozenset[str] = frozenset()  # those that could be meant as well, but for its name
    prepared: frozenset[str] = frozenset()  # those that step later, and were cleared right before it
    named: frozenset[str] = frozenset()  # the one that it has its name from
    apart: frozenset[str] = frozenset()  # those that were cleared for an earlier one, where another was for this one

    def joined(self, other: "Deposit") -> "Deposit":
        """The same line, called for several."""
        both = zip(self, other, strict=True)
        return Deposit(*(one | its for one, its in both))


Deposits = dict[Site, Deposit]


class Owned(NamedTuple):
    """What one slot holds, and which optimizers each deposit of the program is meant for."""

    slot: str = ""
    modules: frozenset[str] = frozenset()
    deposits: Deposits = {}
    probes: frozenset[Site] = frozenset()  # the deposits that are meant for an input, and leave theirs in the slot
    theirs: frozenset[str] = frozenset()  # the modules of the other optimizers
    supposed: frozenset[str] = frozenset()  # what it holds by its name alone

    def is_foreign(self, act: Act, modules: frozenset[str]) -> bool:
        """Whether a deposit fills `modules`, the slot's own, on behalf of other optimizers, or of an input, alone."""
        if act.probes and act.site in self.probes:
            return True
        if self._is_told_apart(act, modules):
            return True
        deposit = self._for_others(act)
        if deposit is None:
            return False
        if self.slot in deposit.prepared and self._goes_on(deposit, modules) and not self._is_judged(act, deposit):
            return False
        if self.slot not in deposit.beside:
            return not act.reaches.isdisjoint(modules)
        # Several losses for several optimizers at once are legal: but not one that goes through what is another's own.
        own = {module for module in act.reaches if is_of(module, self.slot) and not self._feeds(module, act)}
        return bool(own & modules if modules else own) or self._judges(act, modules)

    def _is_told_apart(self, act: Act, modules: frozenset[str]) -> bool:
        """opt_G cleared, g_loss deposited, opt_D cleared, d_loss deposited, both stepped. What g_loss left in the one
        that judges was thrown away; what d_loss leaves in the one that is judged is not, if it goes through both."""
        deposit = self.deposits.get(act.site) if act.kind is Kind.DEPOSIT else None
        if deposit is None or self.slot not in deposit.apart:
            return False
        judges = {judge for judge, by in act.fed if judge in self.theirs - modules and by in modules}
        own = [one.reaches for one in self.deposits.values() if one is not deposit and self.slot in one.serves]
        return any(judges & reaches for reaches in own)

    def _feeds(self, module: str, act: Act) -> bool:
        """Whether a module makes what others work on, as an encoder does: their objective is meant to train it too. A
        generator's own objective goes through the one that judges it."""
        others = {one for one, by in act.fed if by == module} & self.theirs
        own = [one.reaches for one in self.deposits.values() if self.slot in one.serves]
        return bool(others) and not any(others & reaches for reaches in own)

    def _judges(self, act: Act, modules: frozenset[str]) -> bool:
        """Whether a deposit for others goes through a module of the slot's alone, which is given what theirs have made:
        it judges them there, as a critic does, and its own objective, which has the slot's name, trains it."""
        judged = {module for module, by in act.fed if by in self.theirs - modules} & modules - self.theirs
        own = [one.reaches for one in self.deposits.values() if self.slot in one.serves and self.slot in one.named]
        return any(module in reaches for module in judged for reaches in own)

    def _is_judged(self, act: Act, deposit: Deposit) -> bool:
        """d_loss = bce(D(G(z)), zeros): what the generator made is told from what is real, by one that steps on it, and
        that the generator's own objective goes through."""
        judges = {judge for judge, by in act.fed if judge in self.theirs and by in self.modules and _is_gan(judge, by)}
        own = [one.reaches for one in self.deposits.values() if self.slot in one.serves]
        return any(judges & reaches for reaches in own) and self.slot not in deposit.named

    def _goes_on(self, deposit: Deposit, modules: frozenset[str]) -> bool:
        """Whether the slot's own objective goes through others of its modules too: then they are parts of one. One that
        has no objective of its own, an encoder that others train, gets what they all deposit."""
        others = {module for module in deposit.reaches - modules if not _JUDGES.search(module)}
        serving = [one for one in self.deposits.values() if self.slot in one.serves]
        own = any(not one.named or self.slot in one.named for one in serving)
        return not own or any(others & one.reaches for one in serving)

    def may_be_foreign(self, act: Act) -> bool:
        """Whether a deposit for others goes through a module that a deposit for the slot goes through as well: nobody
        says whose parameters that has, but they may be the slot's."""
        if self.modules or not act.reaches or self._for_others(act) is None:
            return False
        nobodys = act.reaches - self.theirs
        return any(self.slot in own.serves and nobodys & own.reaches for own in self.deposits.values())

    def _for_others(self, act: Act) -> Deposit | None:
        """A deposit that serves others, and not the slot."""
        deposit = self.deposits.get(act.site) if act.kind is Kind.DEPOSIT else None
        return deposit if deposit is not None and deposit.serves and self.slot not in deposit.serves else None


def _is_gan(judge: str, by: str) -> bool:
    """netG and netD, gen and critic; C may be a classifier of what G, an encoder, makes."""
    return is_of(by, "generator") and (is_of(judge, "discriminator") or "crit" in judge.lower())


NOT_SHARED = Owned()


def read_objectives(block: Block, body_of: Callable[[Function], Block]) -> Deposits:
    """The deposits of a block and of what it calls, each with the optimizers it serves."""
    turns = list(islice(_linear(block, body_of), _MOST + 1))
    if len(turns) > _MOST:
        return {}
    stepped = {slot for act, slot, _ in turns if act.kind is Kind.CONSUME and slot is not None}
    found: Deposits = {}
    for (turn, serves, cleared), alone, last, apart in _in_order(turns):
        act = turn.act
        meant, before = _meant(act, stepped, serves, cleared, alone, last), found.get(act.site)
        meant = meant._replace(apart=apart)
        found[act.site] = meant if before is None else meant.joined(before)
    return found


def _meant(act: Act, stepped: set[str], serves: set[str], cleared: set[str], alone: bool, last: bool) -> Deposit:
    """A name that is one optimizer's decides between several that could be meant; but those that are cleared right
    before it and step right behind it, with no other backward on the way, have no gradients but these."""
    loss = loss_of(act.node) if isinstance(act.node, ast.Call) else None
    match loss:
        case ast.Call(func=ast.Attribute(value=whole, attr="mean" | "sum")):
            loss = whole
    name = path_of(loss) if loss is not None else None
    owner = named_for(name, stepped) if name is not None else None
    named = frozenset({owner} if owner is not None else ())
    if alone or owner is None or owner not in serves:
        return Deposit(act.reaches, frozenset(serves), prepared=frozenset(cleared - serves), named=named)
    meant = {owner} | (cleared & serves if last else set())
    return Deposit(act.reaches, frozenset(meant), frozenset(serves - meant), named=named)


@lru_cache(maxsize=4096)  # of many turns the answers are the same
def _exclude(these: Assumptions, those: Assumptions) -> bool:
    return any(decide(Atom(key), these) is (not answer) for key, answer in those)


class _Turn(NamedTuple):
    """An act in text order, the slot as the outermost function names it, and the answers that lead there."""

    act: Act
    slot: str | None
    answers: Assumptions

    def excludes(self, other: "_Turn") -> bool:
        """Whether an execution that comes to one does not come to the other."""
        return self.answers is not other.answers and _exclude(self.answers, other.answers)


class _Open(NamedTuple):
    """A deposit that no other has followed yet."""

    turn: _Turn
    serves: set[str]  # those that have stepped since
    cleared: set[str]  # those that were cleared right before it


_Closed = tuple[_Open, bool, bool, frozenset[str]]


def _in_order(turns: list[_Turn]) -> Iterator[_Closed]:
    """Each deposit with the optimizers that step next behind it, and those that were cleared right before it; whether
    it is the only one they step on: then it is for all of them, whatever it is called; whether it is the last; and
    those whose turn was an earlier one's."""
    open_: list[_Open] = []
    cleared: set[str] = set()  # for the next deposit
    stepped: set[str] = set()  # since the last one
    for turn in turns:
        act, slot, _ = turn
        if act.kind is Kind.DEPOSIT:
            if stepped:
                yield from _closed([one for one in open_ if not one.turn.excludes(turn)])
                open_, stepped = [one for one in open_ if one.turn.excludes(turn)], set()
            open_.append(_Open(turn, set(), cleared))
            cleared = set()
        elif act.kind is Kind.CLEAR:
            # A clear behind the slot's own step ends its turn: it prepares nothing.
            cleared |= {slot} - stepped if slot is not None else set()
        else:
            stepped.add(slot or "")  # one that has no name is another
            for one in open_:
                if slot is not None and not one.turn.excludes(turn):
                    one.serves.add(slot)
    yield from _closed(open_)


def _closed(turns: list[_Open]) -> Iterator[_Closed]:
    for number, one in enumerate(turns):
        beside = [other is not one and not one.turn.excludes(other.turn) for other in turns]
        earlier = set[str]().union(
            *(other.cleared for other, is_beside in zip(turns[:number], beside, strict=False) if is_beside)
        )
        apart = (one.serves & earlier) - one.cleared if one.cleared & one.serves else set[str]()
        yield one, not any(beside), not any(beside[number:]), frozenset(apart)


def _linear(
    block: Block, body_of: Callable[[Function], Block], depth: int = 0, answers: Assumptions = NOTHING_ASSUMED
) -> Iterator[_Turn]:
    """Deposits, steps and clears in text order, calls in place, slots as the outermost function names them."""
    for node in block:
        match node:
            case Act(kind=kind) if kind in _TURNS:
                yield _Turn(node, node.slot, answers)
            case Call() if depth < _DEPTH:
                for turn in _linear(body_of(node.function), body_of, depth + 1):
                    slot = node.outside(turn.slot) if turn.slot is not None else None
                    yield _Turn(turn.act, slot, answers)
            case Choice(test=test):
                asked = test or Atom(f"@{id(node)}")
                for arm, answer in ((node.body, True), (node.orelse, False)):
                    yield from _linear(arm, body_of, depth, assume(asked, answer, answers))
            case Loop():
                yield from _linear((*node.body, *node.orelse), body_of, depth, answers)
            case Attempt():
                parts = (node.body, *node.handlers, node.orelse, node.final)
                yield from _linear(tuple(inner for part in parts for inner in part), body_of, depth, answers)
