"""Loops whose first iteration deposits nothing, so that a counter is one ahead of the micro-batches.

for i, batch in enumerate(loader):
    if previous is None:            # or: if i == 0
        previous = batch
        continue
    loss(batch, previous).backward()
"""

import ast

from zerograd.source.text.nodes import below, holds, place


def begins_later(loop: ast.AST | None, deposit: ast.AST | None) -> bool:
    """Whether a branch around a deposit, or one in front of it that goes on, asks which iteration this is."""
    if not isinstance(loop, ast.For | ast.AsyncFor | ast.While) or deposit is None:
        return False
    return any(
        isinstance(node, ast.If) and _decides(node, deposit) and _asks_for_the_first(node.test, loop)
        for node in below(loop)
    )


def _decides(branch: ast.If, deposit: ast.AST) -> bool:
    if holds(branch, deposit):
        return True
    return place(branch) < place(deposit) and isinstance(branch.body[-1], ast.Continue)


def _asks_for_the_first(test: ast.expr, loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Of what the loop counts, or of what it makes only further down: the first has none of it."""
    if any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) for part in below(test)):
        return False
    names = {part.id for part in below(test) if isinstance(part, ast.Name)}
    target = loop.target if isinstance(loop, ast.For | ast.AsyncFor) else None
    counts = {part.id for part in below(target) if isinstance(part, ast.Name)} if target is not None else set()
    stored = [part for part in below(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    above = {name.id for name in stored if place(name) < place(test)}
    later = {name.id for name in stored} - above
    return bool(names & (counts | later))
