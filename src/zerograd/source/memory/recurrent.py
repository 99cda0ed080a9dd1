"""States that go from one iteration to the next with a graph that backward() has freed: the second one raises (ZG402).

hidden = None
for x, y in loader:
    out, hidden = rnn(x, hidden)              # hidden.detach() is missing
    criterion(head(out), y).backward()        # goes through the iteration before as well

Certain where it can be read that the state's graph goes on: the module is torch's own, or one of this project whose
forward pass hands the state as it is to one of torch's, and returns what becomes of it.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.memory.carried import Carrier, carriers_of
from zerograd.source.names.arguments import arguments
from zerograd.source.names.scopes import Function
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import SAME
from zerograd.source.values.definitions import assigned_by, definitions_of
from zerograd.source.values.instances import class_of
from zerograd.source.values.reading import Reading

_WORDS = ("hidden", "LSTM", "GRU", "RNN")
_RECURRENT = frozenset(f"torch.nn.{one}{cell}" for one in ("LSTM", "GRU", "RNN") for cell in ("", "Cell"))


def detect(function: Reading) -> Iterator[Finding]:
    if not function.loops or not any(map(function.file.says, _WORDS)):
        return
    for act in function.having(Kind.DEPOSIT):
        call = act.node
        loop = function.loop_around(call) if isinstance(call, ast.Call) and not call.keywords else None
        if loop is None or not isinstance(call, ast.Call) or function.arms(call) != function.arms(loop):
            continue
        found = carriers_of(function, call)
        if found and all(_goes_on(function, one) for one in found):
            state = found[0].state
            what = f"{state} carries the previous graph along: the second backward() raises"
            told = note(REGISTRY["ZG402"], function.site(found[0].node), certain=True, what=what)
            yield told._replace(cure=f"start each iteration with {state} = {state}.detach()")


def _goes_on(function: Reading, carrier: Carrier) -> bool:
    call, path = carrier.call, path_of(carrier.call.func)
    if path is None:
        return False
    if _is_recurrent(function, path):
        return True
    cls = class_of(function, path)
    forward = cls.method("forward") if cls is not None and cls.method("__call__") is None else None
    names = [name for name, its in arguments(call, forward) if _holds(its, carrier.state)] if forward else []
    return forward is not None and len(names) == 1 and _passes_on(forward, names[0], function)


def _passes_on(forward: Function, name: str, function: Reading) -> bool:
    """Whether the only thing that is done to a state is what one of torch's modules does, and that is returned."""
    inside = Reading(forward.node, (), forward.scope, function.file)
    backs = [back.value for back in inside.of(ast.Return)]
    made = [one for one in definitions_of(inside).every(name) if not one.adds]
    value = made[0].value if len(made) == 1 else None
    if len(backs) != 1 or not isinstance(backs[0], ast.Tuple) or forward.node.decorator_list:
        return False
    if not isinstance(value, ast.Call) or not _is_recurrent(inside, path_of(value.func) or ""):
        return False
    given = any(_holds(one, name) for one in (*value.args, *(named.value for named in value.keywords)))
    back = [one for one in backs[0].elts if path_of(one) == name]
    first = Ancestry(inside).of(backs[0].elts[0])
    quiet = inside.without_grad(value) or inside.arms(value) or any(_is_cut(one) for one in inside.of(ast.Attribute))
    return given and len(back) == 1 and value in first and not quiet


def _is_cut(node: ast.Attribute) -> bool:
    return node.attr in ("detach", "detach_", "data")


def _holds(given: ast.expr, state: str) -> bool:
    """hidden, or (h, c)"""
    parts = given.elts if isinstance(given, ast.Tuple) else [given]
    return any(path_of(part) == state for part in parts)


def _is_recurrent(function: Reading, path: str) -> bool:
    """self.rnn = nn.LSTM(3, 4).to(device)"""
    scope, file = function.scope, function.file
    if path.startswith("self."):
        made = [(home.scope, one) for home, one in assigned_by(scope.owner, path, file)] if scope.owner else []
    else:
        top = Reading(file.program.tree, (), scope.module, file)
        own = definitions_of(function).every(path)
        made = [(scope, one) for one in own or ([] if path in scope.parameters else definitions_of(top).every(path))]
    return bool(made) and all(one.at is None and where.dotted(_maker(one.value)) in _RECURRENT for where, one in made)


def _maker(value: ast.expr) -> str:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in SAME:
        value = value.func.value
    return path_of(value.func) or "" if isinstance(value, ast.Call) else ""
