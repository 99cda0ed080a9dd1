"""Who averages gradients over the ranks: which forward passes a wrapper hears of, and which steps use what it missed.

[Note: ranks] DistributedDataParallel averages in the backward of what its own forward pass has computed: not of a pass
past it, by the module that it wraps, and not of one under no_sync(). What has stayed with the rank is averaged by the
next backward that it hears of. So a loss remembers its passes, and a slot whether its last deposit was heard of.
"""

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.facts import join
from zerograd.core.machine import Content
from zerograd.source.execute import branches
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.paths import Slot
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import NO, YES, Asked, Test, both, is_followed, is_never, leaves, negate
from zerograd.source.heap.objects import Mode, Obj, ObjectKind
from zerograd.source.heap.regions import Covers, reach
from zerograd.source.heap.values import Coat, Graph, Pass, Regions, Value

_UNREAD = (Content.FRESH, Content.MIXED)
_CURED_BY = frozenset({Kind.DEPOSIT, Kind.CLEAR, Kind.CONSUME})


class Unheard(NamedTuple):
    """The answer of a slot whose last deposit its wrapper has not heard of."""

    passed: Pass
    surely: bool


class _Question(NamedTuple):
    """Whether the last deposit into a slot stayed with the rank."""


UNHEARD = _Question()


class Quiet(NamedTuple):
    """A block in which these networks keep their gradients to the rank, if the test is answered yes."""

    modules: Regions
    test: Test
    site: Site
    text: str


def wrapped(ex: Execution, value: Value) -> Value:
    """The module that a wrapper is given, in its coat."""
    if len(value.objects) == 1 and ex.path is not None:
        ex.here.wrapped |= value.objects
    return value._replace(coat=Coat.WRAPPED)


def bare(value: Value) -> Value:
    """What a wrapper wraps."""
    return value._replace(coat=Coat.BARE)


def enter(ex: Execution, value: Value, node: ast.expr) -> Callable[[], None]:
    """A block that may be quiet. What is handed back leaves it."""
    before = list(ex.quiet)
    contexts = [one for one in value.objects if one.kind is ObjectKind.CONTEXT and one.mode is Mode.QUIET]
    for context in contexts:
        test: Test = YES if len(value.objects) == 1 and value.exact else Asked("quiet", (value.id,))
        picked = value.picked
        if picked is not None and (context in picked.yes) != (context in picked.no):
            test = picked.test if context in picked.yes else negate(picked.test)
            if picked.site is not None and (node, ex.context) not in ex.tables.choices:
                ex.tables.choices[node, ex.context] = picked.site, picked.text
                ex.tables.grown = True
        # Where only one answer is left, it is still the choice that decides.
        site, text = ex.tables.choices.get((node, ex.context)) or (ex.site(node), ast.unparse(node))
        if context.told is not None:
            test = both(test, context.told)
        ex.quiet.append(Quiet(context.regions, test, site, text))

    def leave() -> None:
        ex.quiet = before

    return leave


def passed(ex: Execution, called: Value, result: Value, node: ast.AST, *, handed: bool) -> Value:
    """The result of a call on a network, which remembers whether a wrapper has heard of it.

    One that is handed nothing is the same on every rank.
    """
    if not handed or result.graph < Graph.LIVE or len(called.objects) != 1 or ex.path is None:
        return result
    (obj,) = called.objects
    if obj.kind not in (ObjectKind.MODULE, ObjectKind.GIVEN) or not (ex.quiet or ex.here.wrapped):
        return result
    inside = [one for frame in ex.frames if frame.receiver is not None for one in frame.receiver.objects]
    quiet = [one for one in ex.quiet if obj in one.modules]
    if quiet and obj not in inside:
        block = quiet[-1]
        return result._replace(passes=result.passes | {Pass(obj, block.site, block.text, block.test)})
    whole = next((one for one in sorted(ex.here.wrapped) if obj is one or obj in reach(one)), None)
    if whole is None or whole in inside:
        return result
    unheard = {Coat.WRAPPED: NO, Coat.BARE: YES}.get(called.coat) or Asked("either", (called.id,))
    text = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    now = Pass(whole, ex.site(node), text, unheard, is_past=called.coat is Coat.BARE)
    return result._replace(passes=result.passes | {now})


def of_region(ex: Execution, value: Value, region: Obj) -> list[Pass]:
    """The passes of a loss through the network that a region belongs to."""
    return [one for one in value.passes if ex.overlap.of(region, {one.module}) is Covers.YES]


def deposited(ex: Execution, slot: Slot, value: Value, node: ast.AST) -> None:
    """A backward into a slot: does its wrapper hear of it?"""
    region = slot[1]
    assert region is not None
    passes = sorted(of_region(ex, value, region), key=lambda one: (one.module, one.site))
    test: Test = NO
    if passes:
        test = YES
        for one in passes:
            test = both(test, one.unsynced)
    if is_never(test) and not ex.tables.quiet:
        return
    if not is_never(test) and not ex.tables.quiet:
        ex.tables.quiet = ex.tables.grown = True
    branches.weigh(ex, test, node)
    facts, keeps = ex.here.facts[slot], ex.tables.keeps
    kept = answers.assume(facts, test, True, keeps)
    sent = answers.assume(facts, test, False, keeps)
    surely = all(is_followed(one) or not branches.varies(ex, one) for one in leaves(test))
    unheard = Unheard(passes[0], surely) if passes else None
    ex.here.facts[slot] = join(answers.with_answer(kept, UNHEARD, unheard), answers.with_answer(sent, UNHEARD, None))


def reduced(ex: Execution) -> None:
    """Somebody averages by hand."""
    ex.each_fact(answers.with_answer, UNHEARD, None)


def stepped(ex: Execution, slots: list[Slot]) -> dict[Pass, bool]:
    """The passes that a step uses and no wrapper has heard of, and whether that is sure."""
    found: dict[Pass, bool] = {}
    for slot in slots if ex.tables.quiet else ():
        cured_by = {kind for kind in _CURED_BY if kind is Kind.DEPOSIT or ex.excuses.is_unread(slot, kind)}
        for fact in ex.here.facts[slot]:
            told: Any = answers.answer(fact, UNHEARD)
            if isinstance(told, Unheard) and fact.state.content in _UNREAD:
                sure = told.surely and not fact.doubts & cured_by
                found[told.passed] = found.get(told.passed, False) or sure
    return found
