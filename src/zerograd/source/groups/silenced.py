"""The micro-batch that steps, left without synchronisation by `no_sync` (ZG502).

context = model.no_sync() if i % N != 0 else nullcontext()      # averaged at the group's first, stepped at its last
context = model.no_sync() if (i + 1) % N == 0 else nullcontext()  # the very one that steps is left out
with self.context_of(i):                                        # a helper chooses, by the same questions
with model.no_sync():                                           # nobody chooses: no micro-batch is averaged
    for batch in group: loss(batch).backward()
optimizer.step()
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.counters import Guard, read_guard
from zerograd.source.counting.ones import is_one
from zerograd.source.counting.origins import Origins
from zerograd.source.groups.choosing import chosen_by
from zerograd.source.lowering.guarded import guarded_windows
from zerograd.source.lowering.skeleton import Act, Blur, Call, walk
from zerograd.source.text.nodes import below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import Reading

# Ranks may be brought together by hand, of their gradients or of their parameters.
_BY_HAND = pattern(
    r"reduce|gather|broadcast|averag(e_|er|ing)|diloco|local_?sgd|hivemind|sync_?(grad|param|model|weight)"
)
_SWITCH = "require_backward_grad_sync"


class _Choice(NamedTuple):
    """Where it is chosen whether ranks talk: the question, what is taken then, and what else."""

    node: ast.expr | ast.stmt
    test: ast.expr
    yes: ast.AST
    no: ast.AST | None


def detect(function: Reading) -> Iterator[Finding]:
    named = any(node.attr == "no_sync" for node in function.of(ast.Attribute))
    choices = list(_choices(function, named=named))
    if choices:
        yield from _apart(function, choices)
    if named and Kind.DEPOSIT in {act.kind for act in function.acts}:
        yield from _never(function)


def _choices(function: Reading, *, named: bool) -> Iterator[_Choice]:
    if named:
        for asked in function.of(ast.IfExp):
            yield _Choice(asked, asked.test, asked.body, asked.orelse)
        for branch in function.of(ast.If):
            yield _Choice(branch, branch.test, branch.body[0], None)
    for item in function.of(ast.withitem) if function.acts else ():
        call = item.context_expr
        helped = chosen_by(call, function) if isinstance(call, ast.Call) else None
        if helped is not None:
            yield _Choice(call, *helped)


def _apart(function: Reading, choices: list[_Choice]) -> Iterator[Finding]:
    """`no_sync` under one guard and the step under another."""
    origins = Origins(function.nodes, is_one=lambda size: is_one(size, function.scope, function.nodes))
    steps = [window.guard for window in guarded_windows(function.block) if window.guard.phase is not None]
    steps_elsewhere = not any(act.kind is Kind.CONSUME for act in function.acts)
    for choice in choices:
        guard = read_guard(choice.test, origins)
        quiet = _mentions_no_sync(choice.yes)
        loud = choice.no is not None and _mentions_no_sync(choice.no)
        if guard is None or guard.phase is None or quiet == loud:
            continue
        alike = [step for step in steps if step.loop is guard.loop and step.size == guard.size]
        if guard.negated is not quiet:  # the ranks do not talk where the guard is true
            left_out = any(step.phase == guard.phase for step in alike) and _left_out(function, choice, guard)
            apart = possible = left_out
        else:
            apart = any(step.phase != guard.phase for step in alike)
            # Ranks talk at the first micro-batch of a group, whoever steps: it can hardly be meant.
            possible = apart or (steps_elsewhere and guard.accumulates and guard.phase == 0)
        if possible:
            yield note(REGISTRY["ZG502"], function.site(choice.node), certain=apart, test="the guard of no_sync")


def _left_out(function: Reading, choice: _Choice, guard: Guard) -> bool:
    """Whether every backward of the loop stands in the block that is silenced, and nothing else is asked."""
    loop, deposits = guard.loop, [act.node for act in function.having(Kind.DEPOSIT) if act.node is not None]
    inside = [node for node in deposits if loop is not None and holds(loop, node)]
    blocks = [block for block in function.of(ast.With) if any(_takes(item, choice, function) for item in block.items)]
    silenced = all(any(holds(block, node) for block in blocks) for node in inside)
    return bool(inside) and silenced and not guard.conjoined and not function.file.says(_SWITCH)


def _takes(item: ast.withitem, choice: _Choice, function: Reading) -> bool:
    """with context:, with context():, or with the choice itself"""
    taken = item.context_expr
    path = path_of(taken.func if isinstance(taken, ast.Call) else taken)
    made = [node for node in function.of(ast.Assign) if holds(node.value, choice.node)]
    return holds(taken, choice.node) or any(path_of(node.targets[0]) == path for node in made)


def _mentions_no_sync(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == "no_sync" for part in below(node))


def _never(function: Reading) -> Iterator[Finding]:
    """Every backward stands under `with model.no_sync():`, and the step right behind it."""
    file = function.file
    if file.program.has_several or file.says(_SWITCH):
        return
    deposits, steps = function.having(Kind.DEPOSIT), function.having(Kind.CONSUME)
    for block in function.of(ast.With):
        if not any(_silences(item.context_expr) for item in block.items):
            continue
        if not all(act.node is not None and holds(block, act.node) for act in deposits):
            continue
        behind = [act for act in steps if act.node is not None and _runs_behind(function, block, act.node)]
        if behind and not _averages(function, block):
            yield note(REGISTRY["ZG502"], function.site(block), certain=True, test="no_sync around every micro-batch")


def _silences(context: ast.expr) -> bool:
    """model.no_sync(), with nothing that it might hang on"""
    return isinstance(context, ast.Call) and isinstance(context.func, ast.Attribute) and context.func.attr == "no_sync"


def _runs_behind(function: Reading, block: ast.With, step: ast.AST) -> bool:
    """Whether a step follows the block in any case, and before it runs again."""
    follows = (block.end_lineno or block.lineno) < getattr(step, "lineno", 0)
    same = function.arms(step) == function.arms(block) and function.loop_around(step) is function.loop_around(block)
    return follows and same


def _averages(function: Reading, block: ast.With) -> bool:
    """Whether somebody may bring the ranks together: by hand, or in another backward that is not seen from here."""
    file = function.file
    if any(_BY_HAND.search(text.lower()) for text in (file.text, *(file.beside or ()))):
        return True
    first, last = block.lineno, block.end_lineno or block.lineno
    calls = [one for one in function.parts(Call) if one.site is None or not first <= one.site.line <= last]
    blurs = [one for one in function.parts(Blur) if one.site is None or not first <= one.site.line <= last]
    unread = any(Kind.DEPOSIT in one.kinds for one in blurs) or any(_may_deposit(function, one) for one in calls)
    return unread or any(act.kind is Kind.REDUCE for act in function.acts)


def _may_deposit(function: Reading, call: Call) -> bool:
    inside = walk(function.file.program.body_of(call.function))
    return any(isinstance(one, Call) or (isinstance(one, Act) and one.kind is Kind.DEPOSIT) for one in inside)
