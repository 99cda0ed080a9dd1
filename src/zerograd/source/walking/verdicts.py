"""Which verdicts on a slot are worth telling, of all that its ways through a block have met."""

import ast
from collections.abc import Iterable

from zerograd.core.events import Site
from zerograd.core.judgement import Verdict
from zerograd.rules.rule import Rule
from zerograd.source.lowering.skeleton import Act, Block, Loop, before_made, walk
from zerograd.source.names.scopes import FunctionNode
from zerograd.source.text.nodes import below, written
from zerograd.source.text.patterns import pattern

_EXPECTS = pattern(r"^_*(assert|check|expect|raises|verify|compare|allclose)")


def worth_telling(verdicts: Iterable[Verdict[Rule]], block: Block, slot: str) -> list[Verdict[Rule]]:
    """In the order of the text; a fault is met once for each way that leads there, and told once."""
    ordered = sorted(verdicts, key=_order)
    if not ordered:
        return []
    unborn = before_made(block, slot)
    own = {node.site for node in walk(block) if isinstance(node, Act)}  # a function that is called is judged by itself
    once = {(one.law.code, one.event.site, one.certain): one for one in ordered}
    return [verdict for (_, site, _), verdict in once.items() if site in own and site not in unborn]


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


def _order(verdict: Verdict[Rule]) -> tuple[object, ...]:
    """The order of the text: sets have none of their own, and the same text has the same findings."""
    event, state = verdict.event, verdict.state
    marks = sorted(mark.value for mark in state.marks)
    return event.site or Site("", 0), event.kind.value, state.content.value, state.scale.value, marks
