"""Where a part of a graph gets out of a function: it is returned, kept in an attribute, or handed to somebody.

Whoever has it may go through it again.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.leaves import Ancestors
from zerograd.source.graphs.terms import names_loss, summands_of
from zerograd.source.memory.depositing import deposited
from zerograd.source.memory.passes import AGAIN
from zerograd.source.names.scopes import Function
from zerograd.source.text.nodes import below, holds, place
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import CUTS
from zerograd.source.values.definitions import Item, definitions_of
from zerograd.source.values.inlined import is_fresh
from zerograd.source.values.reading import Reading
from zerograd.source.values.storing import stores

_READERS = frozenset({"torch", "print", "numpy", "math", "matplotlib", "wandb"})  # none of them keeps a graph
_RECORDS = pattern(
    r"^log|^add_(scalar|image|figure|histogram|text|video|audio)|record|write|print|info|debug|set_postfix|track|meter"
    r"|set_description|backward|format|numpy|save_im|plot|imshow|^(float|str|isnan|isfinite|step|reduce\w*)$"
)
# self.adjacency = torch.softmax(self.embedding, 0)
_COMPUTED = pattern(
    r"^ +self\.\w+ = (?:torch|F)\.(?:\w*softmax|exp|sigmoid|tanh|relu|mm|matmul)\([^\n]*\bself\.", re.MULTILINE
)
_TRAINS = pattern(r"backward|train|update|optimi|closure|learn|grad|hess|jac|fisher|eig")


def returned(
    function: Reading, ancestry: Ancestry, mine: Ancestors, step: ast.AST | None, but: ast.Call | None = None
) -> set[Item]:
    """What of the graph is returned: its places in a tuple or its keys, or None for all. `but`: what went through it,
    of which the gradients are numbers."""
    closes = function.file.says(f".step({getattr(function.node, 'name', '')})")  # which reads a number
    deposits = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    losses = [loss for call in deposits if (loss := loss_of(call)) is not None]
    goes = deposited(function.file).get(getattr(function.node, "name", ""), set())  # where it is returned to
    terms = {name for loss in losses for name in summands_of(function.nodes, loss)}
    found: set[Item] = set()
    for back in function.of(ast.Return):
        for item, value in _items(back.value) if back.value is not None else ():
            for part in _parts(value):
                is_loss = (step is not None or closes) and _is_number(function, part, terms, goes, item)
                if not is_loss and ancestry.of(part) & mine and not _is_result(part, but, function):
                    found.add(item)
    yielded = (node.value for node in function.of(ast.Yield) if node.value is not None)
    return found | {None for value in yielded if ancestry.of(value) & mine}


def _is_number(function: Reading, part: ast.expr, terms: set[str], goes: set[Item], item: Item) -> bool:
    """A loss that went backward here, or a sum of such, of which those who get it read the value; not one that is still
    to go, nor one that goes again where it is returned to."""
    path = path_of(part) or ""
    again = bool(goes) if item is None else not goes.isdisjoint({item, None})
    if "loss" not in path.lower() or again:
        return path in terms and not goes
    names = set(summands_of(function.nodes, part))
    return path in terms or all(one in terms or not names_loss(one) for one in names - {path} or names)


def _is_result(part: ast.expr, call: ast.Call | None, function: Reading) -> bool:
    """return torch.autograd.grad(loss, weights), or slopes = torch.autograd.grad(loss, weights) and return slopes"""
    made = [one.value for one in definitions_of(function).every(path_of(part) or "")] if call is not None else []
    return part is call is not None or (bool(made) and all(one is call for one in made))


def is_kept(function: Reading, ancestry: Ancestry, mine: Ancestors, own: list[ast.AST]) -> bool:
    """Whether something of the graph is kept in an attribute that another function reads."""
    return any(
        ancestry.of(node.value) & mine
        and (_is_another(function, target) or _is_read_elsewhere(function, path_of(target) or "", own))
        for node in function.of(ast.Assign)
        for whole in node.targets
        for target in (whole.elts if isinstance(whole, ast.Tuple) else [whole])
        if isinstance(target, ast.Attribute)
    )


def _is_another(function: Reading, target: ast.Attribute) -> bool:
    """engine.out = out: an object of a class that is written elsewhere may have a use for it."""
    root = (path_of(target.value) or "self").partition(".")[0]
    if root == "self":
        return False
    made = function.scope.lookup(root)
    return made is None or made.made_by.rpartition(".")[2] not in function.scope.module.class_scopes


def _items(value: ast.expr) -> Iterator[tuple[Item, ast.expr]]:
    """Each thing that is handed back, with its place in the tuple or its key."""
    match value:
        case ast.Tuple(elts=items) if not any(isinstance(item, ast.Starred) for item in items):
            yield from enumerate(items)
        case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
            yield from ((str(getattr(key, "value", "")), item) for key, item in zip(keys, values, strict=True))
        case _:
            yield None, value


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """What is handed back, one by one: (a, b), [a, b], {"a": a}, torch.stack((a, b))."""
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Dict(values=items):
            for item in items:
                yield from _parts(item)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="stack" | "cat"), args=[several, *_]):
            yield from _parts(several)
        case ast.Call(func=ast.Attribute(value=inner, attr="squeeze" | "mean" | "cpu")) if path_of(inner) != "torch":
            yield from _parts(inner)
        case _:
            yield value


def is_stored(function: Reading, ancestry: Ancestry, mine: Ancestors) -> bool:
    """Whether something of the graph is put where a later call may find it again."""
    return any(
        isinstance(target, ast.Attribute | ast.Subscript)
        and not ancestry.objects.is_local(path_of(target) or "")
        and ancestry.of(node.value) & mine
        for node in function.of(ast.Assign)
        for whole in node.targets
        for target in (whole.elts if isinstance(whole, ast.Tuple) else [whole])
    )


def keeps_graphs_beside(function: Reading) -> bool:
    """Whether a module of another file has something that was computed of its weights once, for all of its passes."""
    return any(_COMPUTED.search(text) for text in function.file.beside or () if "Parameter(" in text)


def _is_read_elsewhere(function: Reading, path: str, own: list[ast.AST]) -> bool:
    """Whether some other function has a use for what an attribute keeps: a number of it is none."""
    name, cls = path.rpartition(".")[2], function.scope.owner
    tree = function.file.program.tree
    cut = {id(node.value) for node in below(tree) if isinstance(node, ast.Attribute) and node.attr in CUTS}
    reads = [
        node
        for node in below(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Load)
        and id(node) not in cut
        and not any(holds(one, node) for one in own)
    ]
    if not reads or cls is None or len(own) == 1:
        return bool(reads)
    return any(path_of(node.value) != "self" for node in reads) or not is_fresh(path, cls, function.file)


def is_handed_on(
    function: Reading, ancestry: Ancestry, mine: Ancestors, call: ast.Call, *, returned: bool = False
) -> bool:
    """Whether a part of the graph is given to something that may deposit or keep it, or can be seen from there.
    `returned`: it is what `call` returned, and anyone may have it, also in the next iteration."""
    kept = {id(node.value) for node in function.of(ast.Expr)}
    own, loss = (None, None) if returned else (path_of(call.func), loss_of(call))
    for node in function.of(ast.Call):
        path, behind = path_of(node.func) or "", returned or place(node) > place(call)
        if path in ("", own) or function.scope.dotted(path).partition(".")[0] in _READERS:
            continue
        called, name = function.scope.function(path), path.rpartition(".")[2].lower()
        if name in ("append", "extend") and ancestry.objects.is_local(path):
            continue  # whatever goes through the list goes through what is in it
        if called is not None:
            does = bool(function.file.program.body_of(called)) or _differentiates(function, called)
            if does and behind and called.scope.is_inside(function.scope):
                return True
        else:
            does = _TRAINS.search(name) is not None or (_is_given(node, loss) and not _RECORDS.search(name))
        stays = id(node) in kept and "." in path and not _RECORDS.search(name) and not ancestry.objects.is_local(path)
        stays = stays and (called is None or stores(called, function.file.program))
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        if (stays or (does and behind)) and any(ancestry.of(one) & mine for one in given):
            return True
    return False


def _differentiates(function: Reading, called: Function) -> bool:
    calls = function.file.program.nodes(called.node).of(ast.Call)
    return any((path_of(node.func) or "").endswith(AGAIN) for node in calls)


def _is_given(call: ast.Call, loss: ast.expr | None) -> bool:
    """Whether a call is handed the loss itself."""
    path = path_of(loss) if loss is not None else None
    return path is not None and any(path_of(one) == path for one in (*call.args, *(k.value for k in call.keywords)))
