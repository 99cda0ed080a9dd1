"""Whether parameters are frozen for one objective and thawed for another: then a loss does not tell whom it is for.

What is settled once, in the set-up, is settled for good (a perceptual loss, a teacher), and an input that is told to
require a gradient, as a gradient penalty does, is no parameter. Where a function decides, or something is told in a
training loop or beside a backward, parameters come and go.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.source.names.reach import freezes
from zerograd.source.text.nodes import below, holds, parents_of
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_DECIDES = pattern(r"requires_grad(?!_$)|toggle|freeze|frozen|revers|trainable|param_?grad", re.IGNORECASE)
_REVERSES = ("Revers", "grad_reverse")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


class _Set(NamedTuple):
    """One place where something is told whether to require a gradient."""

    node: ast.AST
    who: ast.expr
    on: bool | None  # None: now this and now that


def thaws(text: str, tree: ast.Module) -> bool:
    """Whether what a backward fills may change from one to the next."""
    if not freezes(text):
        return False
    if any(word in text for word in _REVERSES):
        return True
    nodes = below(tree)
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if any(map(_decides, calls)):
        return True
    telling: list[ast.Assign | ast.Call] = [*calls, *(node for node in nodes if isinstance(node, ast.Assign))]
    told = [one for node in telling for one in _settings(node)]
    if any(one.on is None for one in told):
        return True
    if not any(one.on is False for one in told):
        return False
    called = {path_of(call.func) for call in calls}
    targets = [node.target for node in nodes if isinstance(node, ast.For | ast.comprehension)]
    looped = {part.id for target in targets for part in below(target) if isinstance(part, ast.Name)}
    return _comes_and_goes([one for one in told if _is_of_parameters(one.who, called, looped)], parents_of(tree))


def _comes_and_goes(told: list[_Set], parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether it is told anything behind the set-up; what freezes and what thaws in functions of their own is called
    when it is wanted."""
    homes = {_home(one.node, parents) for one in told}
    both = len({one.on for one in told}) > 1
    return (both and len(homes) > 1) or any(_is_told_again(one.node, parents) for one in told)


def _decides(call: ast.Call) -> bool:
    """set_requires_grad(net, False), self.freeze(), setattr(p, "requires_grad", on): what it does is its own affair."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    by_name = name == "setattr" and len(call.args) == 3 and not _is_other(call.args[1])
    return by_name or _DECIDES.search(name) is not None


def _is_other(name: ast.expr) -> bool:
    return isinstance(name, ast.Constant) and name.value != "requires_grad"


def _settings(node: ast.Assign | ast.Call) -> Iterator[_Set]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                    yield _Set(node, target.value, _constant(value))
        case ast.Call(func=ast.Attribute(value=who, attr="requires_grad_"), args=args, keywords=keywords):
            given = [*args, *(one.value for one in keywords)]
            yield _Set(node, who, _constant(given[0]) if given else True)


def _constant(value: ast.expr) -> bool | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None


def _is_of_parameters(who: ast.expr, called: set[str | None], looped: set[str]) -> bool:
    """A tensor is never called, and no loop runs over tensors to tell them; x.detach() makes one."""
    if isinstance(who, ast.Call):
        return (path_of(who.func) or "").rpartition(".")[2] in ("train", "eval", "to", "cuda", "apply")
    path = path_of(who)
    return path is None or path in called or path.partition(".")[0].partition("[")[0] in looped


def _home(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST | None:
    above = parents.get(node)
    while above is not None and not isinstance(above, _FUNCTIONS):
        above = parents.get(above)
    return above


def _is_told_again(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether it stands in a loop over batches, or in a function that goes backward once it is called."""
    home, around = _home(node, parents), list[ast.AST]()
    above = parents.get(node)
    while above is not home and above is not None:
        around.append(above)
        above = parents.get(above)
    loops = [one for one in around if isinstance(one, _LOOPS) and not _runs_over_parameters(one)]
    if loops or home is None:
        return bool(loops)
    backward = [one for one in below(home) if isinstance(one, ast.Attribute) and "backward" in one.attr]
    training = [one for one in below(home) if isinstance(one, _LOOPS) and one not in around]
    return any(not any(holds(loop, one) for loop in training) for one in backward)


def _runs_over_parameters(loop: ast.AST) -> bool:
    """for p in net.parameters(), for net in (vgg, teacher): of what is frozen, not of what is trained with."""
    if not isinstance(loop, ast.For):
        return False
    over = {part.attr for part in below(loop.iter) if isinstance(part, ast.Attribute)}
    listed = isinstance(loop.iter, ast.List | ast.Tuple)
    return listed or any("param" in one or "modules" in one or one == "children" for one in over)
