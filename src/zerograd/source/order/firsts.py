"""What a first call makes and only later ones use: `if not hasattr(self, "schedule"): make it; else: move it`."""

import ast

from zerograd.core.events import Event, Site
from zerograd.source.lowering.program import Program
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_COUNTER = pattern(r"(^|[._])(epoch|ep|step|iter|iteration)$")
_COUNTS = ("range", "trange", "tqdm", "enumerate")


def is_made_otherwise(program: Program, path: str, site: Site | None) -> bool:
    """Whether the branch that leads to a place has another arm, in which what is used there is made."""
    if site is None or site.path != program.path:
        return False
    homes = [one.node for one in program.roots.functions if _spans(one.node, site.line)]
    for branch in (branch for home in homes for branch in program.nodes(home).of(ast.If)):
        arms = [branch.body, branch.orelse]
        for arm, other in (arms, arms[::-1]):
            if any(_spans(one, site.line) for one in arm):
                made = [part for one in other for part in below(one) if isinstance(part, ast.Assign)]
                if any(path_of(target) == path for one in made for target in one.targets):
                    return True
    return False


def waits_for_count(program: Program, schedule: Event) -> bool:
    """if epoch >= warm: scheduler.step(): whether a branch that leads to it asks how far the training is. One that asks
    whether it is still near its beginning, `if epoch < warm`, is taken at once."""
    site, slot = schedule.site, schedule.slot or ""
    if site is None or site.path != program.path:
        return False
    homes = [program.tree, *(one.node for one in program.roots.functions if _spans(one.node, site.line))]
    nodes = [program.nodes(home) for home in homes]
    loops = [loop for its in nodes for loop in its.of(ast.For) if _spans(loop, site.line)]
    counters = {name for loop in loops if (name := _counter(loop)) is not None}
    branches = [one for its in nodes for one in its.of(ast.If) if _spans(one, site.line)]
    waiting = [one for one in branches if not _steps_too(one, site.line, slot)]
    # A warm-up of the project's own may begin at nothing: its first value is better skipped.
    line = site.line if "warm" not in schedule.what else 0
    asked = {name for one in waiting for name in _asked(one, line)}
    return any(name in counters or _COUNTER.search(name) for name in asked)


def _asked(branch: ast.If, line: int) -> set[str]:
    """What a branch asks about, but for what it asks only to be small."""
    parts = list(below(branch.test))
    early: set[int] = set()
    if any(_spans(one, line) for one in branch.body):
        for part in parts:
            match part:
                case (
                    ast.Compare(left=small, ops=[ast.Lt() | ast.LtE()])
                    | ast.Compare(ops=[ast.Gt() | ast.GtE()], comparators=[small])
                ):
                    early |= {id(one) for one in below(small)}
    return {path_of(part) or "" for part in parts if id(part) not in early}


def _counter(loop: ast.For) -> str | None:
    """epoch, of range(n); i, of enumerate(loader)"""
    if not isinstance(loop.iter, ast.Call) or path_of(loop.iter.func) not in _COUNTS:
        return None
    return path_of(loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target)


def _steps_too(branch: ast.If, line: int, slot: str) -> bool:
    """Whether the optimizer waits for the same: what comes first in there is too early, whenever that is."""
    arms = (branch.body, branch.orelse)
    arm, other = arms if any(_spans(one, line) for one in branch.body) else arms[::-1]
    calls = [part for one in arm for part in below(one) if isinstance(part, ast.Call) and not _spans(part, line)]
    if any(isinstance(call.func, ast.Attribute) and call.func.attr == "step" for call in calls):
        return True
    trained = any(slot in map(path_of, (*call.args, *(named.value for named in call.keywords))) for call in calls)
    return trained and not any(path_of(part) == slot for one in other for part in below(one))


def _spans(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
