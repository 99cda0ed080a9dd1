"""Moving averages that go on with the graphs of all they have averaged (ZG402).

average = (1 - rate) * average + rate * torch.mean(scores)       # the next one is made of this one, and so on
loss = -(torch.mean(joint) - torch.mean(scores) / average.mean().detach())
loss.backward()

That the scores have a graph the model tells that made them, or their other use: backward() goes through them. Where the
average is only ever read without its graph, nobody wanted the chain of all iterations that hangs on it.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.living import Graphs
from zerograd.source.names.freezing import freezes
from zerograd.source.text.nodes import below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import CUTS, is_model
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import LoopNode, Reading
from zerograd.source.values.sums import weighed_anew


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says(".detach()"):
        return
    for node, average, added in weighed_anew(function):
        if not _outlives(function, node, average) or not _is_read_without(function, average, node):
            continue
        if not function.without_grad(node) and not _cuts(added) and _has_graph(function, node, added):
            what = f"{written(node)} keeps the graphs of all iterations"
            yield note(REGISTRY["ZG402"], function.site(node), certain=True, what=what)


def _outlives(function: Reading, node: ast.Assign, average: str) -> bool:
    """Whether the next round begins with it: of a loop that does not set it, or of whoever gets it back."""
    loop = function.loop_around(node)
    if loop is not None:
        made = definitions_of(function).every(average)
        return not any(holds(loop, one.node) for one in made if one.node is not node)
    returned = (path_of(part) for back in function.of(ast.Return) if back.value for part in below(back.value))
    return average in function.scope.parameters and average in returned


def _has_graph(function: Reading, node: ast.Assign, added: ast.expr) -> bool:
    """Whether what is averaged surely has one, or backward() goes through the same pass of a model that it was made by:
    the definitions that reach the loss tell, not others of the same name."""
    deposits = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    if _is_rollout(function.loop_around(node), deposits):
        return False
    if not deposits or (Graphs(function).has(added) and not freezes(function.file.text)):
        return bool(deposits)
    ancestry = Ancestry(function)
    passes = {one for one in ancestry.of(added) if _runs_a_model(one)}
    return any(passes & ancestry.of(loss) for call in deposits if passes and (loss := loss_of(call)) is not None)


def _is_rollout(loop: LoopNode | None, deposits: list[ast.Call]) -> bool:
    """Whether backward() comes behind the loop, and frees what all its iterations have made."""
    behind = [call for call in deposits if loop is not None and call.lineno > (loop.end_lineno or 0)]
    return bool(behind) and not any(loop is not None and holds(loop, call) for call in deposits)


def _runs_a_model(made: ast.AST | str) -> bool:
    """net(x), statistics(net, x), or one of the results of that: what prepares data is none."""
    call = made.value if isinstance(made, ast.Subscript) else made
    return isinstance(call, ast.Call) and any(
        is_model(path_of(one) or "") for one in (call.func, *call.args, *(named.value for named in call.keywords))
    )


def _is_read_without(function: Reading, average: str, node: ast.Assign) -> bool:
    """Whether every use of it, but its own next value and what is handed back, takes the graph off; what numpy is
    handed as it is has none, or the program would stop there."""
    cut = [one for one in function.of(ast.Call) if _is_cut(one) and not _stops(one)]
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


def _stops(call: ast.Call) -> bool:
    """average.cpu().numpy(), and nothing before it has taken the graph off"""
    func = call.func
    return isinstance(func, ast.Attribute) and func.attr == "numpy" and not _cuts(func.value)


def _cuts(value: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in CUTS for part in below(value))
