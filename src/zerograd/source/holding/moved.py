"""Tensors that are moved to another device when the optimizer has them already (ZG010).

z = torch.randn(8, 100, requires_grad=True)
optimizer = Adam([z])
z = z.to(device)                                   # on a GPU another tensor, which the optimizer does not hold
for _ in range(500): loss(net(z)).backward(); optimizer.step()

What stands by its name in the list of an optimizer is a tensor, and a leaf: torch refuses everything else.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.text.nodes import below, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import Reading

_FEW = 12  # tensors that are looked at in one function
_MOVES = frozenset({"to", "cuda"})
_DEVICE = pattern(r"device|cuda|\.to\(")
_MESSAGE = "{what} creates a copy that is not the tensor of {line}"
_CURE = "move the tensor before it is given to the optimizer"


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says(".to(") and not function.file.says(".cuda("):
        return
    called = sorted((node for way in _MOVES for node in function.made.get(way, ())), key=place)
    moves = [(node, name) for node in called if (name := _moved(node)) is not None]
    every = list(_given(function, {name for _, name in moves})) if moves else []
    for optimizer, name, given in every[:_FEW]:
        for node in (node for node, its in moves if its == name):
            behind = place(given) < place(node) and function.arms(given) <= function.arms(node)
            again = any(place(call) > place(node) and name == other for _, other, call in every)
            certain = _is_elsewhere(function, name, given)
            if behind and not again and certain is not None and _goes_on(function, optimizer, node):
                line = f"{optimizer} on line {given.lineno}"
                related = (Related(function.site(given), "gives the optimizer the tensor"),)
                names = {"what": written(node), "model": name, "optimizer": optimizer, "made": line}
                unless = "the tensor may already be on that device"
                found = note(
                    REGISTRY["ZG010"], function.site(node), certain=certain, related=related, unless=unless, **names
                )
                yield found._replace(message=_MESSAGE.format(what=written(node), line=line), cure=_CURE)
                break


def _moved(node: ast.Assign) -> str | None:
    """`z` of z = z.to(device), z = z.cuda(); to the CPU one goes to look at it."""
    call = node.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _MOVES:
        return None
    match node.targets, call.func.value:
        case [ast.Name(id=name)], ast.Name(id=same) if name == same:
            away = call.func.attr == "cuda" or (bool(call.args) and "cpu" not in written(call.args[0]))
            return name if away else None
    return None


def _given(function: Reading, names: set[str]) -> Iterator[tuple[str, str, ast.Call]]:
    """The optimizers that are given one of these by its name: Adam([z]), optimizer.add_param_group({"params": z})."""
    for node in function.of(ast.Assign):
        call = node.value
        named = _named(call.args[0]) if isinstance(call, ast.Call) and call.args else ()
        given = [name for name in named if name in names]
        path = path_of(node.targets[0]) if given and len(node.targets) == 1 else None
        if path is not None and isinstance(call, ast.Call) and makes_optimizer(call, function.scope):
            yield from ((path, name, call) for name in given)
    for call in function.of(ast.Call) if function.file.says("add_param_group") else ():
        match call:
            case ast.Call(func=ast.Attribute(value=on, attr="add_param_group"), args=[ast.Dict() as group]):
                yield from ((path_of(on) or "", name, call) for name in _named(group) if name in names)


def _named(given: ast.expr) -> Iterator[str]:
    match given:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            for item in items:
                yield from [item.id] if isinstance(item, ast.Name) else _named(item)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "params":
                    yield from [value.id] if isinstance(value, ast.Name) else _named(value)


def _is_elsewhere(function: Reading, name: str, given: ast.Call) -> bool | None:
    """Whether a tensor was made on the CPU, by torch itself; None if it was made on a device or moved there before."""
    before = [one for one in function.of(ast.Assign) if place(one) < place(given) and path_of(one.targets[0]) == name]
    if any(_DEVICE.search(written(one.value)) for one in before):
        return None
    makers = [path_of(one.value.func) if isinstance(one.value, ast.Call) else None for one in before]
    return bool(makers) and all(function.scope.dotted(maker or "").startswith("torch.") for maker in makers)


def _goes_on(function: Reading, optimizer: str, move: ast.Assign) -> bool:
    """Whether tensor and optimizer are used together behind the move."""
    name = _moved(move)
    stepped = any(
        act.slot == optimizer and place(act.node) > place(move) for act in function.having(Kind.CONSUME) if act.node
    )
    behind = [call for call in function.of(ast.Call) if place(call) > place(move)]
    handed = any(path_of(part) == optimizer for call in behind for given in _all(call) for part in below(given))
    used = any(path_of(part) == name for call in behind for given in _all(call) for part in below(given))
    return used and (stepped or handed)


def _all(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]
