"""Which verdicts on a slot are worth telling, of all that its ways through a block have met."""

import ast
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

from zerograd.core.events import Kind, Site
from zerograd.core.judgement import Verdict
from zerograd.rules.rule import Rule
from zerograd.source.lowering.skeleton import Act, Block, Choice, Loop, before_made, walk
from zerograd.source.names.scopes import FunctionNode
from zerograd.source.text.nodes import below, written
from zerograd.source.text.patterns import pattern

# What it lacks is lacking on that very way. A schedule may wait for what the walk has not come to; of the others one
# may be told in place of another: see worth_telling().
_LASTING = frozenset({"ZG201"})
_EXPECTS = pattern(r"^_*(assert|check|expect|raises|verify|compare|allclose)")


def met_by_then(verdicts: Iterable[Verdict[Rule]]) -> list[Verdict[Rule]]:
    """Those that stand though the walk was not finished: on the ways it has gone they are certain, and nothing that is
    met on the others would take them back."""
    return [verdict for verdict in verdicts if verdict.certain and verdict.law.code in _LASTING]


def worth_telling(verdicts: Iterable[Verdict[Rule]], block: Block, slot: str) -> list[Verdict[Rule]]:
    """In the order of the text; a fault is met once for each way that leads there, and told once."""
    ordered = sorted(verdicts, key=_order)
    if not ordered:
        return []
    unborn = before_made(block, slot)
    own = [node for node in walk(block) if isinstance(node, Act)]
    sites, deposits = {act.site for act in own}, [act.site for act in own if act.kind is Kind.DEPOSIT]
    empty, lost = (_certain(ordered, code) for code in ("ZG003", "ZG002"))
    # A way that comes to no backward at all is a loop that was never entered: the clear behind it is why.
    lost &= {site for site in empty if any(other < site for other in deposits)}
    quiets = set(_quieting(block))
    once = {(one.law.code, one.event.site, one.certain): one for one in ordered}

    def is_told(code: str, site: Site | None) -> bool:
        # Nothing is there at all: what was cleared, or consumed, on another way before that is not why.
        instead = (code == "ZG002" and site in empty - lost) or (code == "ZG003" and site in lost)
        instead = instead or (code == "ZG004" and site in empty) or (code == "ZG003" and site in quiets)
        elsewhere = code == "ZG107" and site not in sites  # of a function that is judged by itself
        return site not in unborn and not instead and not elsewhere

    return [verdict for (code, site, _), verdict in once.items() if is_told(code, site)]


def _quieting(block: Block) -> Iterator[Site]:
    """The steps in front of a schedule's, and of the loop that trains: they move nothing, and quiet torch's warning."""
    for place, node in enumerate(block[:-1]):
        before = not isinstance(node, Loop) and any(isinstance(later, Loop) for later in block[place + 1 :])
        arms = (node.body, node.orelse) if isinstance(node, Choice) else (block[place : place + 2],)
        for one, other in chain.from_iterable(map(pairwise, arms)) if before else ():
            kinds = [act.kind for act in (one, other) if isinstance(act, Act)]
            if isinstance(one, Act) and kinds == [Kind.CONSUME, Kind.SCHEDULE]:
                yield one.site


def is_trial(function: FunctionNode, block: Block) -> bool:
    """Whether a function is a test that takes its steps one by one: what it does wrong, it does to see what happens.
    One that is given what it works with, and expects nothing, trains: test_time_adapt(model, optimizer, x)"""
    if not function.name.startswith("test") or any(isinstance(node, Loop) for node in walk(block)):
        return False
    given = [one.arg for one in (*function.args.posonlyargs, *function.args.args) if one.arg != "self"]
    return not given or any("pytest" in written(one) for one in function.decorator_list) or _expects(function)


def _expects(function: FunctionNode) -> bool:
    calls = (part.func for part in below(function) if isinstance(part, ast.Call))
    names = (getattr(func, "attr", getattr(func, "id", "")) for func in calls)
    return any(isinstance(part, ast.Assert) for part in below(function)) or any(map(_EXPECTS.search, names))


def _certain(verdicts: Iterable[Verdict[Rule]], code: str) -> set[Site]:
    found = (one.event.site for one in verdicts if one.law.code == code and one.certain)
    return {site for site in found if site is not None}


def _order(verdict: Verdict[Rule]) -> tuple[object, ...]:
    """The order of the text: sets have none of their own, and the same text has the same findings."""
    event, state = verdict.event, verdict.state
    marks = sorted(mark.value for mark in state.marks)
    return event.site or Site("", 0), event.kind.value, state.content.value, state.scale.value, marks
