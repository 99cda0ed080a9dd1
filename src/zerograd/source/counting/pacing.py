"""Loops that only move a schedule: to where it was when the training broke off, or to draw it.

for _ in range(start_epoch):
    optimizer.step()            # there is no gradient yet, so that nothing moves: it quiets the schedule's warning
    scheduler.step()

Nothing is computed there that a gradient could come from, and nothing is missing. What counts is told by the loop: it
goes over numbers, steps two things by name, and calls nothing else but what reads and shows the learning rate.
"""

import ast
from collections.abc import Callable

from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import BUILTINS, tells

_MOST = 20  # lines: to draw a curve takes no more
_COUNTS = frozenset({"range", "trange", "tqdm", "count", "enumerate", "arange"})
_SHOWS = pattern(
    r"^(step|zero_grad|append|extend|add|get_\w*lrs?|get_\w*lr_\w*|\w*lrs?|assert\w*|approx|isclose|allclose|close|plot"
    r"|scatter|log\w*|format|round|sleep|set_\w+|state_dict|load_state_dict|item|tolist|items|values|keys|pow"
    r"|sqrt|cos|sin|exp|ceil|floor|warn|time|perf_counter|get|figure|array|catch_warnings|simplefilter)$"
)
_SCHEDULES = pattern(r"sched|(^|_)(sch|lr|lrs|warm\w*|cosine|decay)(_|\d|$)")


def only_moves(loop: ast.For | ast.AsyncFor | ast.While, is_schedule: Callable[[str], bool]) -> bool:
    """Whether a loop is of this kind."""
    if (loop.end_lineno or 0) - loop.lineno > _MOST or (isinstance(loop, ast.For) and not _counts(loop.iter)):
        return False
    steps, parts = set[str](), below(loop)
    for call in parts:
        if not isinstance(call, ast.Call):
            continue
        path = path_of(call.func) or ""
        owner, _, name = path.rpartition(".")
        if name == "step" and owner:
            if "closure" in written(call) or "[" in owner:
                return False
            steps.add(owner)
        elif not (path in BUILTINS or _SHOWS.search(name) or tells(path)):
            return False
    target = None if isinstance(loop, ast.While) else loop.target
    targets = {part.id for part in below(target) if isinstance(part, ast.Name)} if target is not None else set[str]()
    told = any(_SCHEDULES.search(owner.rpartition(".")[2].lower()) or is_schedule(owner) for owner in steps)
    return told and len(steps) > 1 and steps.isdisjoint(targets) and not any(map(_is_of_gradients, parts))


def _counts(over: ast.expr) -> bool:
    """range(start_epoch), tqdm(range(n)), enumerate(range(n)): numbers, no data."""
    called = path_of(over.func) if isinstance(over, ast.Call) else None
    if called is None or called.rpartition(".")[2] not in _COUNTS:
        return False
    assert isinstance(over, ast.Call)
    first = over.args[0] if over.args else None
    wraps = called.rpartition(".")[2] in ("tqdm", "enumerate")
    return not wraps or (first is not None and _counts(first))


def _is_of_gradients(part: ast.AST) -> bool:
    """p.grad = ..., loss = ..."""
    if isinstance(part, ast.Attribute):
        return part.attr in ("grad", "backward")
    return isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and "loss" in part.id.lower()
