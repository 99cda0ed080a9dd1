"""What is summed or listed with its graph and is no loss of this function's own (those are kept.py's).

total += F.l1_loss(out, y)          a value that is made of what a trained model returned
losses.append(agent.update(x))      a loss that a function returns as it is, after it went backward from it
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.differentiated import feeds_a_loss
from zerograd.source.graphs.living import Graphs
from zerograd.source.lowering.skeleton import Call
from zerograd.source.memory.kept import is_emptied, live_losses, resets
from zerograd.source.memory.returned import is_returned
from zerograd.source.names.freezing import freezes
from zerograd.source.text.nodes import below, holds, parents_of, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import BUILTINS, CUTS, tells
from zerograd.source.values.few import counts_to_few
from zerograd.source.values.owned import READERS, is_made_empty
from zerograd.source.values.reading import LoopNode, Reading
from zerograd.source.values.readouts import is_only_read
from zerograd.source.values.sums import adds_to, appends_to, weighed

_FEW = 12  # sums that are looked at in one function
_TELLS = (ast.BinOp, ast.FormattedValue, ast.Return, ast.Tuple, ast.List, ast.Dict, ast.keyword, ast.Starred)
_NUMBERS = (ast.Constant, ast.Compare, ast.JoinedStr, ast.ListComp, ast.Dict)
_READS = CUTS - {"detach_"}
_Sum = ast.AugAssign | ast.Assign | ast.Expr


def detect(function: Reading) -> Iterator[Finding]:
    backwards = [act.node for act in function.having(Kind.DEPOSIT) if act.node is not None]
    calls = bool(function.parts(Call))  # of functions that touch gradients
    sums = list(_sums(function)) if backwards or calls else []
    if not sums:
        return
    losses = live_losses(function) if backwards else {}
    graphs = Graphs(function) if backwards else None
    for node, keeper, value, loop in sums[:_FEW]:
        if keeper in losses or weighed(value, losses) is not None:
            continue
        made = graphs is not None and any(holds(loop, one) for one in backwards) and graphs.has(value)
        freed = not made and calls and is_returned(function, value, node)
        if (made or freed) and _stays(function, node, keeper, loop, freed=freed):
            certain = not made or not (freezes(function.file.text) or _is_handed_back(function, keeper))
            unless = "frozen parameters may leave no graph, or the caller may use it"
            what = f"{written(node)} keeps the graphs of all iterations"
            yield note(REGISTRY["ZG402"], function.site(node), certain=certain, unless=unless, what=what)


def _sums(function: Reading) -> Iterator[tuple[_Sum, str, ast.expr, LoopNode]]:
    """The sums and lists that a loop adds to, but for those of plain numbers."""
    sums = adds_to(function)
    totals = {keeper for _, keeper, _ in sums}
    for node, keeper, value in [*sums, *appends_to(function)]:
        if not keeper.isidentifier() or keeper in function.scope.parameters or _is_number(value):
            continue
        loop = function.loop_around(node)
        # What another sum keeps is told where it gets it.
        if loop is not None and not any(path_of(part) in totals for part in below(value)):
            yield node, keeper, value, loop


def _is_number(value: ast.expr) -> bool:
    """1, loss.item(), len(batch), float(loss), loss.item() * n"""
    if isinstance(value, ast.Call):
        func = value.func
        return func.attr in CUTS if isinstance(func, ast.Attribute) else path_of(func) in BUILTINS
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) or _is_number(value.right)
    return isinstance(value, _NUMBERS)


def _stays(function: Reading, node: _Sum, keeper: str, loop: LoopNode, *, freed: bool) -> bool:
    """Whether it is this function's own, and neither set anew in every iteration nor differentiated; `freed`: nobody
    can go through the graphs again, so that all that matters is whether somebody lets go of them."""
    if isinstance(node, ast.Expr) and not is_made_empty(function, keeper, keeper, node, loop if freed else None):
        return False
    fresh = resets(function, loop, keeper, node) or counts_to_few(loop, function) or feeds_a_loss(function, keeper, ())
    kept = not is_emptied(function, loop, keeper) if freed else _is_told_or_read(function, keeper, node)
    return not fresh and not function.without_grad(node) and kept


def _is_told_or_read(function: Reading, keeper: str, node: _Sum) -> bool:
    return is_only_told(function, keeper, node) or is_only_read(function, keeper, node)


def is_only_told(function: Reading, keeper: str, node: _Sum) -> bool:
    """Whether it is only printed, averaged or returned, a sum also as a number: who goes through it, or empties it, may
    need it."""
    parents = parents_of(function.node)
    for one in function.of(ast.Name):
        if one.id != keeper or isinstance(one.ctx, ast.Store) or holds(node, one):
            continue
        around = parents.get(one)
        if isinstance(around, ast.Attribute) and around.attr in _READS and not isinstance(node, ast.Expr):
            continue
        while isinstance(around, _TELLS):
            around = parents.get(around)
        match around:
            case ast.Call(func=func) if function.scope.dotted(path_of(func) or "?").partition(".")[0] in READERS:
                continue
            case ast.Call(func=func) if tells(path_of(func) or "") or isinstance(func, ast.Attribute):
                if func is not one and not holds(func, one):
                    continue
                return False
            case ast.Assign(targets=[ast.Name()]) | ast.Module() | ast.FunctionDef() | ast.JoinedStr() | None:
                continue
        return False
    return True


def _is_handed_back(function: Reading, keeper: str) -> bool:
    """As it is: of what is returned as a number, or without its graph, nobody goes through one."""
    cut = [one for one in function.of(ast.Attribute) if one.attr in CUTS]
    named = [part for back in function.of(ast.Return) for part in below(back) if isinstance(part, ast.Name)]
    return any(part.id == keeper and not any(holds(one, part) for one in cut) for part in named)
