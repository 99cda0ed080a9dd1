"""The calls of a function that go through a graph, and through what: backward(), torch.autograd.grad()."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.leaves import Ancestors
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import MODULES
from zerograd.source.values.reading import Reading

AGAIN = ("autograd.grad", "autograd.backward")


def others(function: Reading, call: ast.Call | None = None) -> Iterator[ast.Call]:
    """The other calls of this function that go through a graph."""
    for act in function.having(Kind.DEPOSIT):
        if isinstance(act.node, ast.Call) and act.node is not call:
            yield act.node
    derived = (node for node in function.of(ast.Call) if (path_of(node.func) or "").endswith(AGAIN))
    yield from (node for node in derived if node is not call)


def share_an_object(function: Reading, mine: Ancestors, theirs: Ancestors) -> bool:
    """engine.loss_a(y), engine.loss_b(y): two methods of one object, which may both tell of what it kept."""
    ours, others_ = _asked(function, mine), _asked(function, theirs)
    return any(
        path != other and (owner in (other, its) or path == its)
        for path, owner in ours
        for other, its in others_
        if its
    )


def _asked(function: Reading, ancestors: Ancestors) -> set[tuple[str, str]]:
    """What was called to record a graph, and whose method it is."""
    calls = (one for one in ancestors if isinstance(one, ast.Call))
    paths = {path for call in calls if (path := path_of(call.func)) is not None}
    imports = function.scope.module.imports
    own = [path for path in paths if path.partition(".")[0] not in imports and path.rpartition(".")[2] not in MODULES]
    owners = ((path, path.rpartition(".")[0]) for path in own)
    return {(path, owner if owner not in ("", "self") else "") for path, owner in owners}


def through(call: ast.Call) -> ast.expr | None:
    """What is differentiated."""
    if not (path_of(call.func) or "").endswith(AGAIN):
        return loss_of(call)
    given = [*call.args[:1], *(named.value for named in call.keywords if named.arg in ("outputs", "tensors"))]
    return given[0] if given else None


def gone_through(ancestry: Ancestry, other: ast.Call) -> Ancestors | None:
    """Those of what is differentiated; None if that cannot be read."""
    loss = through(other)
    if (path_of(other.func) or "").endswith(AGAIN):
        return ancestry.of(loss) if loss is not None else None
    # values.backward(gradient): they are what is gone through, whatever they are called.
    values = other.func.value if isinstance(other.func, ast.Attribute) and other.args else None
    both = [ancestry.of(one) for one in (loss, values) if one is not None]
    return both[0].union(*both) if loss is not None else None
