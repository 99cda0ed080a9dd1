"""A loss that is divided by the counter of its group while that is still counting (ZG101).

n += 1
loss = criterion(model(x), y) / n       # by 1, by 2, by 3: the first weighs as much as all others should
loss.backward()
if n == accumulation_steps:
    optimizer.step()
    n = 0

A sum over the group that is divided when it is complete is right, and so is what a framework divides.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import Losses, loss_of
from zerograd.source.lowering.guarded import Window
from zerograd.source.text.nodes import below, place
from zerograd.source.text.paths import path_of

_COUNTING = "{deposit} divides by {by}, which is still growing: weights are 1, 1/2, 1/3, ..."


def divided_by_counter(window: Window, losses: Losses) -> Iterator[Finding]:
    if window.loop.node is None or window.rescales or window.inverted:
        return
    counters = _counters(window.loop.node)
    for act in window.deposits if counters else ():
        loss = loss_of(act.node) if isinstance(act.node, ast.Call) else None
        if loss is None or losses.adds_up(loss):
            continue
        by = next((by for by in losses.divisors(loss) if by in counters and counters[by] < place(loss)[0]), None)
        if by is not None:
            found = note(REGISTRY["ZG101"], act.site, certain=True, deposit=act.what, size=window.guard.size)
            yield found._replace(message=_COUNTING.format(deposit=act.what, by=by))


def _counters(loop: ast.AST) -> dict[str, tuple[int, int]]:
    """What a loop counts up and sets back to 0, with the place where it is counted."""
    counted, begun = dict[str, tuple[int, int]](), set[str | None]()
    for node in below(loop):
        match node:
            case ast.AugAssign(target=target, op=ast.Add(), value=ast.Constant(value=1)):
                path = path_of(target)
                if path is not None:
                    counted[path] = place(node)[0]
            case ast.Assign(targets=[target], value=ast.Constant(value=0)):
                begun.add(path_of(target))
    return {path: where for path, where in counted.items() if path in begun}
