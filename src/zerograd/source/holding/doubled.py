"""Parameters that two optimizers hold, and both step with the gradients of one backward (ZG004).

opt_enc, opt_main = Adam(model.encoder.parameters()), Adam(model.parameters())      the encoder is the model's own
pi_opt, v_opt = Adam(Policy(trunk).parameters()), Adam(Value(trunk).parameters())   and the trunk is both's
...
loss.backward()
opt_enc.step()
opt_main.step()

So it is with two that are given to one object whose step() steps all it has. Told only of modules that are given whole
to both: whoever freezes or chooses parameters may mean others by each.
"""

import ast
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.holding.listed import modules_listed
from zerograd.source.lowering.skeleton import Act, Call
from zerograd.source.names.reach import freezes
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below, place
from zerograd.source.text.paths import path_of
from zerograd.source.values.callers import reading_of, values_of
from zerograd.source.values.definitions import assigned_by, definitions_of
from zerograd.source.values.reading import File, Reading
from zerograd.source.values.weights import has_weights

_MOST = 8  # optimizers that are compared with one another
_TAKES = "def parameters("
_MESSAGE = "{other} holds {module}, which {one} holds too: both step it with the gradients of one backward()"
_CURE = "give every parameter to one optimizer"


class _Made(NamedTuple):
    """An optimizer, and the modules that it was given whole."""

    name: str
    call: ast.Call
    modules: tuple[str, ...]
    where: Reading  # the function that makes it


def detect(function: Reading) -> Iterator[Finding]:
    """Of two steps, one behind the other."""
    if not function.file.program.has_several or freezes(function.file.text):
        return
    seen: set[tuple[str, str]] = set()
    for one, other in _pairs(function):
        slots = (one.slot or "", other.slot or "")
        if slots not in seen:
            seen.add(slots)
            made = [_made(slot, function) for slot in slots]
            if made[0] is not None and made[1] is not None:
                yield from _told(made[0], made[1])


def detect_joined(file: File) -> Iterator[Finding]:
    """Of two that one object steps: MultipleOptimizer(table, dense)"""
    if not file.says(".parameters()") or not file.says(".step()") or freezes(file.text):
        return
    for function in file.program.roots.functions:
        if within(file.text, function.node).count(".parameters()") > 1:
            reading = Reading(function.node, (), function.scope, file)
            kept = [node.value for node in reading.of(ast.Assign)] + [node.value for node in reading.of(ast.Return)]
            joining = [value for value in kept if value.__class__ is ast.Call]
            for one, other in (pair for call in joining for pair in combinations(_joined(call, reading), 2)):
                yield from _told(one, other)


# Whom they hold


def _made(name: str, function: Reading) -> _Made | None:
    """How it is made, if once and for all, by the names of who makes it."""
    cls, file = function.scope.owner, function.file
    if name.startswith("self.") and cls is not None:
        assigned = [(reading_of(method, file), one) for method, one in assigned_by(cls, name, file)]
    else:
        assigned = [(function, one) for one in definitions_of(function).every(name)]
    if len(assigned) != 1 or (cls is not None and len(file.stores(cls, name)) > 1):
        return None
    where, one = assigned[0]
    call = one.value
    if one.at is not None or not isinstance(call, ast.Call) or not makes_optimizer(call, where.scope) or not call.args:
        return None
    return _Made(name, call, tuple(_given(call.args[0])), where)


def _given(given: ast.expr) -> Iterator[str]:
    """What stands in a list, in groups or alone."""
    yield from modules_listed(given)
    for group in given.elts if isinstance(given, ast.List) else ():
        for key, value in zip(group.keys, group.values, strict=True) if isinstance(group, ast.Dict) else ():
            if isinstance(key, ast.Constant) and key.value == "params":
                yield from modules_listed(value)


def _told(one: _Made, other: _Made) -> Iterator[Finding]:
    first, second = sorted((one, other), key=lambda made: place(made.call))
    if first.where.node is not second.where.node or first.where.file is not second.where.file:
        return
    function = first.where
    module = next((both for a in first.modules for b in second.modules if (both := _shared(a, b, function))), None)
    if module is not None and not _is_changed(module, first.call, second.call, function):
        related = (Related(function.site(first.call), f"{first.name} is given it here"),)
        site = function.site(second.call)
        found = note(REGISTRY["ZG004"], site, certain=True, related=related, step="", consumer="")
        message = _MESSAGE.format(one=first.name, other=second.name, module=module)
        yield found._replace(message=message, cure=_CURE)


def _shared(one: str, other: str, function: Reading) -> str | None:
    """The module that both have: the same one, one of which the other is a part, or a part of both."""
    inner, outer = (one, other) if len(one) > len(other) else (other, one)
    if inner == outer:
        return inner
    if inner.startswith(f"{outer}."):
        return inner if _is_part(inner, outer, function) else None
    parts = _kept(one, function.scope) & (_kept(other, function.scope) | {other})
    parts |= _kept(other, function.scope) & {one}
    return next((part for part in sorted(parts) if _learns(part, function)), None)


def _is_part(inner: str, outer: str, function: Reading) -> bool:
    """Whether model.encoder is among what model.parameters() gives: every module's are, unless its class says
    otherwise."""
    binding = function.scope.lookup(outer)
    if binding is not None and binding.cls is not None:
        attribute = f"self{inner[len(outer) :]}"
        return _is_module(binding.cls) and any(attribute in one.assigned for one in binding.cls.lineage())
    # Of one that was handed in, the class must be in sight by what it sets.
    sets = f"self{inner[len(outer) :]} = "
    texts = [function.file.text, *(function.file.beside or ())]
    return (
        binding is None
        and function.file.beside is not None
        and any(sets in one for one in texts)
        and not any(_TAKES in one for one in texts)
    )


def _kept(module: str, scope: Scope) -> set[str]:
    """What a module is made of, by the names of who made it: trunk of Policy(trunk)."""
    binding = scope.lookup(module)
    if binding is None or binding.beside or binding.cls is None or not _is_module(binding.cls):
        return set()
    return {path for _, path in binding.keeps}


def _is_module(cls: Scope) -> bool:
    lineage = cls.lineage()
    return any(base == "torch.nn.Module" for one in lineage for base in one.bases) and cls.method("parameters") is None


def _learns(path: str, function: Reading) -> bool:
    made = values_of(path, function)
    return bool(made) and all(has_weights(one, function.scope) for one in made)


def _is_changed(module: str, first: ast.Call, second: ast.Call, function: Reading) -> bool:
    """Whether another object has its name by the time the second is made."""
    roots = {module[:at] for at in range(len(module) + 1) if module[at : at + 1] in ("", ".")} - {"self"}
    made = [one.node for root in roots for one in definitions_of(function).every(root)]
    return any(place(first) < place(one) < place(second) for one in made)


# Who steps both


def _pairs(function: Reading) -> Iterator[tuple[Act, Act]]:
    """Steps of different optimizers, one behind the other on one way, and nothing but a backward before them."""
    fed: Act | None = None
    stepped: list[Act] = []
    for act in function.acts:
        if act.kind in (Kind.DEPOSIT, Kind.CLEAR):
            fed, stepped = (act if act.kind is Kind.DEPOSIT else None), []
        elif act.kind is Kind.CONSUME and fed is not None and not _is_told_how(act):
            yield from ((one, act) for one in stepped if one.slot != act.slot and _are_one_way(one, act, fed, function))
            stepped.append(act)


def _is_told_how(step: Act) -> bool:
    """optimizer.step(closure) goes backward by itself; scaler.step(optimizer) does not."""
    return not isinstance(step.node, ast.Call) or any(path_of(one) != step.slot for one in step.node.args)


def _are_one_way(one: Act, other: Act, fed: Act, function: Reading) -> bool:
    if (
        one.node is None
        or other.node is None
        or fed.node is None
        or function.arms(one.node) != function.arms(other.node)
    ):
        return False
    if not function.loop_around(one.node) is function.loop_around(other.node) is function.loop_around(fed.node):
        return False
    calls = [call.site for call in function.parts(Call) if function.file.program.body_of(call.function)]
    return not any(site is None or fed.site < site < other.site for site in calls)


def _joined(call: ast.expr | None, function: Reading) -> list[_Made]:
    """The optimizers that an object is given all of which it steps."""
    if not isinstance(call, ast.Call) or not call.args or not _is_class(call.func):
        return []
    given = [part for one in call.args for part in (one.elts if isinstance(one, ast.List | ast.Tuple) else [one])]
    names = [one.id for one in given if isinstance(one, ast.Name)]
    cls = function.scope.class_scope(path_of(call.func) or "") if len(names) > 1 else None
    if cls is None or not _steps_all(cls):
        return []
    return [made for name in names[:_MOST] if (made := _made(name, function)) is not None]


def _is_class(func: ast.expr) -> bool:
    name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
    return name[:1].isupper()


def _steps_all(cls: Scope) -> bool:
    """for one in self.optimizers: one.step(), of what __init__ was given"""
    step, init = cls.method("step"), cls.method("__init__")
    if step is None or init is None:
        return False
    for loop in step.node.body:
        match loop:
            case ast.For(target=ast.Name(id=each), iter=over, body=[ast.Expr(value=ast.Call(func=func, args=[]))]):
                path = path_of(over)
                makers = [one.value for one in below(init.node) if isinstance(one, ast.Assign) and _binds(one, path)]
                kept = len(makers) == 1 and path_of(_unlisted(makers[0])) in init.scope.parameters
                if path_of(func) == f"{each}.step" and kept:
                    return True
    return False


def _binds(node: ast.Assign, path: str | None) -> bool:
    return path is not None and path in map(path_of, node.targets)


def _unlisted(value: ast.expr) -> ast.expr:
    """optimizers of list(optimizers)"""
    match value:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner]):
            return inner
    return value
