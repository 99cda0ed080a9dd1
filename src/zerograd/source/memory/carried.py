"""States that go from one iteration to the next with their graphs, where each steps and retains its own (ZG402).

hidden = None                                               def train_batch(self, x, y):
for x, y in loader:                                             out, hidden = self.model(x, self.hidden)
    out, hidden = model(x, hidden)                              self.hidden = hidden
    criterion(out, y).backward(retain_graph=True)               self.loss_fn(out, y).backward(retain_graph=True)
    optimizer.step()                                            self.optimizer.step()

Every backward goes through all iterations before it, whose weights the steps have changed since: detach() is missing.
Where the module itself lets go of the state, nobody needs what is retained. Silent where anything else is done to the
state, where another backward may need the graph, and where one step takes the gradients of several backwards.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.graphs.incoming import KEPT
from zerograd.source.memory.passes import others, through
from zerograd.source.memory.remembered import remembered_by
from zerograd.source.text.nodes import below, holds, place
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.definitions import Definition, definitions_of
from zerograd.source.values.reading import Reading

_STATE = pattern(r"hidden|state|(^|[._])[hc](x|s|_?[0nt]|_prev)?$|(^|[._])(hc|memory)$")
_FEW = 3  # calls that a loss goes through and that may carry a state


class Carrier(NamedTuple):
    """out, hidden = model(x, hidden)"""

    node: ast.Assign | ast.Call
    call: ast.Call
    state: str


def carried_past(function: Reading, call: ast.Call) -> Carrier | None:
    """The state in which a backward() that retains finds the graphs of all earlier iterations, each with its step."""
    if not _steps(function, call):
        return None
    found = carriers_of(function, call)
    if function.loop_around(call) is None and any(_may_be_used(function, one) for one in found):
        return None
    kept = remembered_by(function, call) if not found else None
    return found[0] if found else Carrier(kept[0], *kept) if kept is not None else None


def carriers_of(function: Reading, call: ast.Call) -> list[Carrier]:
    """Where the states are made of themselves that a backward() goes through, and nothing older; none if anything else
    is done to one of them."""
    loss, around = through(call), function.loop_around(call) or function.node
    if loss is None or function.file.says(".detach_(") or any(others(function, call)):
        return []
    inside = [one for one in function.of(ast.Assign) if holds(around, one)]
    made = [(one, one.value) for one in inside if isinstance(one.value, ast.Call)]
    found = [Carrier(one, its, state) for one, its in made for state in _states(function, one, its, around)]
    if not 0 < len(found) <= _FEW:
        return []
    ancestry = Ancestry(function)
    mine, every = ancestry.of(loss), definitions_of(function).every
    begun = [one.value for _, _, state in found for one in every(state) if not holds(around, one.node)]
    older = {KEPT, *(state.partition(".")[0] for _, _, state in found)}.union(*map(ancestry.of, begun))
    if not all(one in older or (isinstance(one, ast.AST) and holds(around, one)) for one in mine):
        return []  # what was made before the loop is what it may be retained for
    return found if all(one.call in mine and _stays(function, one, around) for one in found) else []


def _may_be_used(function: Reading, carrier: Carrier) -> bool:
    """Outside of a loop only an object's state is seen to last; another of its methods may go backward through it."""
    cls = function.scope.owner if carrier.state.startswith("self.") else None
    methods = [one for base in cls.lineage() for one in base.functions.values()] if cls is not None else []
    strange = [below(one.node) for one in methods if one.node is not function.node]
    return cls is None or any(
        any(path_of(part) == carrier.state for part in parts if isinstance(part, ast.Attribute))
        and any(getattr(part, "attr", "") in ("backward", "grad") for part in parts)
        for parts in strange
    )


def _steps(function: Reading, call: ast.Call) -> bool:
    """Whether every iteration that goes backward steps, too: else it may gather the gradients of several."""
    steps = [act.node for act in function.having(Kind.CONSUME) if act.node is not None]
    loop, arms = function.loop_around(call), function.arms(call)
    return any(function.loop_around(one) is loop and function.arms(one) <= arms for one in steps)


def _states(function: Reading, carrier: ast.Assign, call: ast.Call, around: ast.AST) -> list[str]:
    """What a call is given and hands back: `hidden` of out, hidden = model(x, hidden)."""
    given = (*call.args, *(named.value for named in call.keywords))
    taken = {path for one in given for path in _named(one) if _STATE.search(path.lower())}
    made = {path for target in carrier.targets for path in _named(target)} if taken else set[str]()
    for one in function.of(ast.Assign) if taken - made else ():  # self.hidden = hidden
        again = isinstance(one.value, ast.Name | ast.Tuple) and {*_named(one.value)} <= made
        if again and place(one) > place(carrier) and holds(around, one) and len(one.targets) == 1:
            made |= {path_of(one.targets[0]) or ""}
    return sorted(taken & made)


def _named(value: ast.expr) -> Iterator[str]:
    """h and c of (h, c)"""
    for one in value.elts if isinstance(value, ast.Tuple | ast.List) else (value,):
        if isinstance(one, ast.Tuple | ast.List):
            yield from _named(one)
        elif (path := path_of(one)) is not None:
            yield path


def _stays(function: Reading, carrier: Carrier, around: ast.AST) -> bool:
    """Whether an iteration begins with what the last one has left, and nobody has cut it."""
    node, _, state = carrier
    inside = [one for one in definitions_of(function).every(state) if holds(around, one.node)]
    made = [one for one in inside if not _is_first(function, one, state)]
    if len(made) != 1 or place(made[0].node) < place(node) or function.without_grad(node):
        return False
    arms = function.arms(node) | function.arms(made[0].node)
    always = all(_asks_for_first(branch.test, state) for branch, _ in arms - function.arms(around))
    return always and not _is_changed(function, state)


def _is_first(function: Reading, one: Definition, state: str) -> bool:
    """if hidden is None: hidden = model.init_hidden()"""
    tests = [branch.test for branch, arm in function.arms(one.node) if arm]
    given = {path_of(part) for part in below(one.value)}
    return any(_asks_for_first(test, state) for test in tests) and state not in given


def _asks_for_first(test: ast.expr, state: str) -> bool:
    """hidden is None, i == 0"""
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return path_of(left) == state
        case ast.Compare(left=ast.Name(), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return path_of(inner) == state
    return False


def _is_changed(function: Reading, state: str) -> bool:
    """hidden.data.zero_(), reset(hidden), for one in hidden: ...; self.reset(), which may set what an object keeps."""
    loops = [one.iter for one in function.of(ast.For)]
    calls = [one.value for one in function.of(ast.Expr) if isinstance(one.value, ast.Call)]
    told = [one for one in calls if path_of(one.func) != "print"]
    if any(path_of(part) == state for one in (*loops, *told) for part in below(one)):
        return True
    stored = [one for one in function.of(ast.Attribute) if isinstance(one.ctx, ast.Store)]
    own = function.scope.owner if state.startswith("self.") else None
    named = {path for one in function.of(ast.Call) if (path := path_of(one.func) or "").startswith("self.")}
    methods = [own.method(path[5:]) for path in named] if own is not None else []
    sets = any(
        isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and path_of(part) == state
        for method in methods
        if method is not None and method.node is not function.node
        for part in below(method.node)
    )
    return sets or any((path_of(one) or "").startswith(f"{state}.") for one in stored)
