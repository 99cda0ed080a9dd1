"""Names that stand for something else by the time they are used again."""

import ast

from zerograd.source.text.nodes import below, place
from zerograd.source.text.paths import path_of
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading


def is_rebound(function: Reading, loss: str, deposit: ast.AST, use: ast.AST) -> bool:
    """Whether the name stands for something else by then: `loss = loss.item()`, `loss = to_number(loss)`."""
    names = definitions_of(function)
    reached = names.reaching(loss, use)
    calls = function.of(ast.Call) if function.file.says(".detach_") else []
    if any(path_of(call.func) == f"{loss}.detach_" for call in calls):
        return True
    if reached is None:
        return False
    made = [*reached.here, *(() if reached.certain else reached.around)]
    again = [one.node for one in made if one.node is not use]
    before = names.reaching(loss, deposit)
    gone = {id(one.node) for one in (*before.here, *before.around)} if before is not None else set()
    other = bool(again) and bool(gone) and gone.isdisjoint(map(id, again))  # of the same name, from another loop
    return other or any(_takes_value(one) or place(deposit) < place(one) < place(use) for one in again)


def _takes_value(node: ast.AST) -> bool:
    """loss = loss.item(), loss = loss.detach(): from here on it is a number."""
    return any(isinstance(part, ast.Attribute) and part.attr in ("item", "detach", "data") for part in below(node))
