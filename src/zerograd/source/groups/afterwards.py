"""The number of micro-batches divides what is told of the loss, and not the loss that went backward (ZG101).

def micro(model, batch, n_micro):
    loss = loss_fn(model(batch))
    loss.backward()
    return loss.detach() / n_micro          # too late: for people alone

optimizer.zero_grad()
total = sum(micro(model, one, len(group)) for one in group)
optimizer.step()

That a function was handed the number says that its mean is meant. It is told only where the whole group is in sight,
from the clear to the step, and nobody rescales or reads gradients.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.counters import ACCUMULATION
from zerograd.source.counting.divisors import divides
from zerograd.source.counting.losses import Losses, loss_of
from zerograd.source.groups.each import divides_itself
from zerograd.source.lowering.guarded import acts_in
from zerograd.source.lowering.skeleton import Act, Block, Blur, Call, Loop, blocks_of, walk
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading

_ASKS = ("/", ".div(")


def detect(function: Reading) -> Iterator[Finding]:
    """What a function deposits that a loop of this one runs."""
    if not any(map(function.file.says, _ASKS)) or function.file.reads_gradients or not function.parts(Call):
        return
    for micro in _whole_groups(function.block):
        home = micro.scope.module.home
        if home is None or home is not function.file.program:
            continue
        nodes = home.nodes(micro.node)
        acts = acts_in(home.function(micro))
        deposit = acts[0] if len(acts) == 1 and acts[0].kind is Kind.DEPOSIT else None
        if deposit is None or not isinstance(deposit.node, ast.Call):
            continue
        loss, losses = loss_of(deposit.node), Losses(nodes, micro.scope)
        divided = divides_itself(deposit.node, losses) or losses.may_be_normalised(loss)
        if divided or not isinstance(loss, ast.Name):
            continue
        for late, size in _divided_later(loss, [*nodes.of(ast.BinOp), *nodes.of(ast.Call)]):
            if size in micro.scope.parameters and ACCUMULATION.search(size.lower()):
                related = (Related(function.site(late), "divides only the value that is logged"),)
                yield note(
                    REGISTRY["ZG101"], deposit.site, certain=True, related=related, deposit=deposit.what, size=size
                )
                break


def _whole_groups(block: Block) -> Iterator[Function]:
    """The one function that a loop calls, between a clear and a step that stand beside the loop."""
    for position, node in enumerate(block):
        if isinstance(node, Loop) and Kind.CLEAR in _kinds(block[:position]) and _steps(block[position + 1 :]):
            inside = [one for one in walk(node.body) if isinstance(one, Act | Call | Blur)]
            alone = inside[0] if len(inside) == 1 else None
            if isinstance(alone, Call):
                yield alone.function
        for inner in blocks_of(node):
            yield from _whole_groups(inner)


def _steps(block: Block) -> bool:
    """Whether a block steps with what there is: nothing rescales it, and nobody else may."""
    kinds = _kinds(block)
    return (
        Kind.CONSUME in kinds and Kind.RESCALE not in kinds and not any(isinstance(one, Call | Blur) for one in block)
    )


def _kinds(block: Block) -> set[Kind]:
    return {node.kind for node in block if isinstance(node, Act)}


def _divided_later(loss: ast.Name, nodes: list[ast.BinOp | ast.Call]) -> Iterator[tuple[ast.expr, str]]:
    """Where the loss, or what is read of it, is divided behind its backward(), and by what."""
    for node in nodes:
        match node:
            case ast.BinOp(left=whole, op=ast.Div(), right=by):
                pass
            case ast.Call(func=ast.Attribute(value=whole) as func, args=[by]) if divides(func):
                pass
            case _:
                continue
        size = path_of(by)
        if node.lineno > loss.lineno and size is not None and _is_of(whole, loss.id):
            yield node, size


def _is_of(whole: ast.expr, name: str) -> bool:
    """loss, loss.item(), loss.detach()"""
    return {part.id for part in below(whole) if isinstance(part, ast.Name)} == {name}
