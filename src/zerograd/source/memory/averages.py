"""Moving averages that go on with the graphs of all they have averaged (ZG402).

average = (1 - rate) * average + rate * torch.mean(scores)       # the next one is made of this one, and so on
loss = -(torch.mean(joint) - torch.mean(scores) / average.mean().detach())
loss.backward()

That the scores have a graph their other use tells: backward() goes through them. Where the average is only ever read
without its graph, nobody wanted the chain of all iterations that hangs on it.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import CUTS
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading
from zerograd.source.values.sums import weighed_anew


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says(".detach()"):
        return
    for node, average, added in weighed_anew(function):
        lives = _outlives(function, node, average)
        names = {part.id for part in below(added) if isinstance(part, ast.Name)}
        if not lives or not _goes_backward(function, names, node) or not _is_read_without(function, average, node):
            continue
        if not function.without_grad(node) and not _cuts(added):
            what = f"{written(node)} keeps the graph of every iteration alive: only its value is read"
            yield note(REGISTRY["ZG402"], function.site(node), certain=True, what=what)


def _outlives(function: Reading, node: ast.Assign, average: str) -> bool:
    """Whether the next round begins with it: of a loop that does not set it, or of whoever gets it back."""
    loop = function.loop_around(node)
    if loop is not None:
        made = definitions_of(function).every(average)
        return not any(holds(loop, one.node) for one in made if one.node is not node)
    returned = (path_of(part) for back in function.of(ast.Return) if back.value for part in below(back.value))
    return average in function.scope.parameters and average in returned


def _goes_backward(function: Reading, names: set[str], node: ast.Assign) -> bool:
    """Whether a loss is made of what is averaged, as it is, and something that is called has made it."""
    deposits = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    every = definitions_of(function).every
    pending, seen = [loss for call in deposits if (loss := loss_of(call)) is not None], set[str]()
    for value in pending:  # it grows on the way
        cut = [one for one in below(value) if _is_cut(one)]
        for part in below(value):
            if isinstance(part, ast.Name) and part.id not in seen and not any(holds(one, part) for one in cut):
                seen.add(part.id)
                pending += [one.value for one in every(part.id) if one.node is not node]
    return any(name in seen and any(isinstance(one.value, ast.Call) for one in every(name)) for name in names)


def _is_read_without(function: Reading, average: str, node: ast.Assign) -> bool:
    """Whether every use of it, but its own next value and what is handed back, takes the graph off."""
    cut = [one for one in function.of(ast.Call) if _is_cut(one)]
    back = [one.value for one in function.of(ast.Return) if one.value is not None]
    reads = [
        name
        for name in function.of(ast.Name)
        if name.id == average and isinstance(name.ctx, ast.Load) and not holds(node, name)
        if not any(holds(one, name) for one in back)
    ]
    return bool(reads) and all(any(holds(one, name) for one in cut) for name in reads)


def _is_cut(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CUTS


def _cuts(value: ast.expr) -> bool:
    return any(map(_is_cut, below(value)))
