"""Two parameters that share one gradient: `shared.grad = local.grad`, as in asynchronous actor-critics.

While clearing means filling with zeros, clearing one clears both. Cleared by None, which is torch's way since 2.0, only
one of them lets go: the other goes on adding to the old sum.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.skeleton import Act, Call
from zerograd.source.names.scopes import Scope
from zerograd.source.order.clears import keeps_zeros
from zerograd.source.text.nodes import Nodes, below, holds, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.definitions import assigned_by
from zerograd.source.values.reading import File, LoopNode, Reading

_ALIAS = pattern(r"grad\s*=\s*\w+\._?grad\b(?!\.)")


class _Alias(NamedTuple):
    node: ast.Assign
    taker: str  # the model whose parameters are given the gradients
    giver: str  # the model whose gradients they are


def shared_through_calls(function: Reading) -> Iterator[Finding]:
    """The aliases a function makes, itself or through a function of this file, judged by what it clears."""
    if not function.file.reads_gradients or not _may_share(function.file):
        return
    found = [*_aliases(function.nodes), *_called(function)]
    for alias in found:
        yield from _judge(function, alias, found)


def _called(function: Reading) -> Iterator[_Alias]:
    program = function.file.program
    for call in function.parts(Call):
        here = call.function.node in program.relevant  # an alias of another file has no place in this one
        for alias in _aliases(program.nodes(call.function.node)) if here else ():
            taker, giver = call.outside(alias.taker), call.outside(alias.giver)
            if taker and giver:
                yield _Alias(alias.node, taker, giver)


@lru_cache(maxsize=1)  # asked of every function of a file
def _may_share(file: File) -> bool:
    return _ALIAS.search(file.text) is not None


def _aliases(nodes: Nodes) -> Iterator[_Alias]:
    for loop in nodes.of(ast.For):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=left), ast.Name(id=right)]),
                iter=ast.Call(func=ast.Name(id="zip"), args=[first, second]),
            ):
                models = {left: _model(first), right: _model(second)}
                for node in (inner for inner in nodes.of(ast.Assign) if holds(loop, inner)):
                    taker, giver = _base(node.targets[0]), _base(node.value)
                    if taker in models and giver in models and taker != giver:
                        yield _Alias(node, models[taker] or "", models[giver] or "")


def _model(parameters: ast.expr) -> str | None:
    match parameters:
        case ast.Call(func=ast.Attribute(value=value, attr="parameters"), args=[]):
            return path_of(value)
    return None


def _base(node: ast.expr) -> str | None:
    """`p` of `p.grad` and `p._grad`."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="grad" | "_grad"):
            return name
    return None


def _judge(function: Reading, alias: _Alias, found: list[_Alias]) -> Iterator[Finding]:
    if not alias.taker or not alias.giver or _is_made_anew(function, alias.giver):
        return
    steps = {act.slot for act in function.having(Kind.CONSUME)}
    takers = {one.taker for one in found}
    clears = function.having(Kind.CLEAR)
    if not function.having(Kind.DEPOSIT) or not steps or any(_reaches(act, alias.giver, function) for act in clears):
        return  # not a whole round of training, or one that clears what it must
    emptied = [
        act for act in clears if act.slot in steps and isinstance(act.node, ast.Call) and not keeps_zeros(act.node)
    ]
    if emptied:
        # As many optimizers as models that are given gradients: none of them is one of the givers'.
        single = len(steps) == 1 or (len(steps) <= len(takers) and _take_turns(function, found))
        alone = single and len(emptied) == len(clears) and not _clears_elsewhere(function)
        certain = alone and _stays(function, alias.giver)
        what, cleared, site = written(alias.node), emptied[0].what, function.site(alias.node)
        yield note(REGISTRY["ZG305"], site, certain=certain, what=what, cleared=cleared, giver=alias.giver)


def _take_turns(function: Reading, found: list[_Alias]) -> bool:
    """Whether each model is given its gradients and stepped before the next one is, by an optimizer that steps once: an
    inner one, or one of the givers', has no such turn."""
    steps = [(act.site.line, act.slot or "") for act in function.having(Kind.CONSUME)]
    turns = sorted([*steps, *((one.node.lineno, "") for one in found)])
    given = [not slot for _, slot in turns]
    slots = [slot for _, slot in steps]
    return len(set(slots)) == len(slots) and given == [True, False] * (len(given) // 2)


def _clears_elsewhere(function: Reading) -> bool:
    """Whether a function of this file that is called clears something: it may be this."""
    file = function.file
    blocks = [file.program.body_of(call.function) for call in function.parts(Call)]
    return any(act.kind is Kind.CLEAR for block in blocks for act in file.acts_of(block))


def _reaches(act: Act, model: str, function: Reading) -> bool:
    """Whether a clear is, or may be, one of this model's gradients."""
    if act.slot is not None:
        binding = function.scope.lookup(act.slot)
        return binding is not None and model in binding.over
    receiver = (
        act.node.func.value if isinstance(act.node, ast.Call) and isinstance(act.node.func, ast.Attribute) else None
    )
    return receiver is None or path_of(receiver) == model or act.partial


def _loops(function: Reading) -> list[LoopNode | None]:
    """The loops that deposit."""
    return [function.loop_around(act.node) for act in function.having(Kind.DEPOSIT) if act.node is not None]


def _is_made_anew(function: Reading, model: str) -> bool:
    """Whether the model is a new one in every round: its gradients go with it."""
    targets = [(node, target) for node in function.of(ast.Assign) for target in node.targets]
    assigned = [node for node, target in targets if path_of(target) == model]
    root = model.partition(".")[0]
    handed = [
        *(loop.target for loop in function.of(ast.For)),
        *(item.optional_vars for item in function.of(ast.withitem)),
    ]
    names = {part.id for target in handed if target for part in below(target) if isinstance(part, ast.Name)}
    return root in names or any(loop is None or holds(loop, node) for node in assigned for loop in _loops(function))


def _called_by(cls: Scope, function: Reading) -> set[str | None]:
    """What the methods of a class call."""
    nodes = (function.file.program.nodes(method.node) for method in cls.functions.values())
    return {path_of(call.func) for each in nodes for call in each.of(ast.Call)}


def _stays(function: Reading, model: str) -> bool:
    """Whether the model that deposits is the same one the next time: it outlives the loop, or pulls new weights."""
    pulled, owner = f"{model}.load_state_dict", function.scope.owner
    made = assigned_by(owner, model, function.file) if owner is not None and model.startswith("self.") else []
    if made and all(method.node.name == "__init__" for method, _ in made):
        return True
    if model == "self" and owner is not None and "self.load_state_dict" in _called_by(owner, function):
        return True
    return None not in _loops(function) or any(path_of(call.func) == pulled for call in function.of(ast.Call))
