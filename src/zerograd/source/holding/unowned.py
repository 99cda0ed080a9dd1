"""Modules that learn and that no optimizer holds (ZG008).

model, head = Backbone(), ArcFace(512, 10)           # ArcFace makes an nn.Parameter
optimizer = SGD(model.parameters(), lr=0.1)          # and nobody gets those of the head
...
loss = criterion(head(model(x), y), y)
loss.backward()

optimizer_G, optimizer_D = Adam(G.parameters()), Adam(G.parameters())
...
loss_D = D(real).mean() - D(G(z).detach()).mean()    # goes through D alone
loss_D.backward()

Told only of a module whose every use is seen: who hands it on, unread, takes its parameters, freezes or loads it, makes
it a part of another one, silences it. So does whatever reads gradients.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.holding.forgotten import deposit_through
from zerograd.source.lowering.skeleton import Act
from zerograd.source.names.arguments import arguments
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Role
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.values.bonds import Bonds
from zerograd.source.values.callers import called
from zerograd.source.values.glances import Parents, is_only_asked
from zerograd.source.values.reading import File, Reading
from zerograd.source.values.weights import has_weights

_MOVES = frozenset({"train", "eval", "cuda", "to", "cpu", "half", "float", "double", "apply"})  # and give it back
_TOLD = frozenset({"state_dict", "forward", "training", "zero_grad"})
_CUTS = ("detach", "no_grad", ".data", ".item(", "inference_mode")
_MAKING = (".parameters()", "optimizer(", "optim(")  # SGD(model.parameters()), build_optimizer(model)
_FEW, _MOST = 12, 4  # objects that are looked at, and backwards that are followed


def detect(file: File) -> Iterator[Finding]:
    if not file.says(".backward(") or not file.says(".step(") or not file.says(".parameters()") or file.reads_gradients:
        return
    program = file.program
    words = [word for word in _MAKING if file.says(word)]
    texts = ((one, within(file.text, one.node)) for one in program.roots.functions)
    functions = [one for one, text in texts if any(word in text for word in words)]
    for one in functions:
        block = program.function(one) if one.node in program.relevant else ()
        yield from _inside(Reading(one.node, block, one.scope, file))
    yield from _inside(Reading(program.tree, program.module, program.roots.module, file))


def _inside(function: Reading) -> Iterator[Finding]:
    helped = any(map(function.file.says, _MAKING[1:]))
    if not helped and "parameters" not in {one.attr for one in function.of(ast.Attribute)}:
        return  # most modules: it is a function that makes the optimizer
    made = [node.value for node in function.of(ast.Assign) if _is_optimizer(node.value, function)]
    held = frozenset(name for one in made for name in _given(one))
    if not made and helped:
        its = [(node.value, _made_by_helper(node.value, function)) for node in function.of(ast.Assign)]
        made = [one for one, names in its if names]
        held = held.union(*(names for _, names in its))
    elif not all(map(_is_told, made)):
        return
    if not made:
        return
    bound = _bound(function, held)
    found = list(_through_it_alone(function, bound)) if len(made) > 1 else []
    found = [(act, name) for act, name in found if _is_apart(function, name, held) and deposit_through(function, held)]
    for name, values in () if found else list(bound.items())[:_FEW]:
        if all(has_weights(one, function.scope) for one in values) and _is_seen(function, name):
            found += [(deposit, name) for deposit in [_deposit_through(function, name)] if deposit is not None]
    for deposit, name in found:
        related = (Related(function.site(made[0]), "creates the optimizer"),)
        told = {"deposit": deposit.what, "parameters": f"the parameters of {name}"}
        yield note(REGISTRY["ZG008"], deposit.site, certain=True, related=related, **told)


def _is_optimizer(value: ast.expr, function: Reading) -> bool:
    return isinstance(value, ast.Call) and makes_optimizer(value, function.scope)


def _made_by_helper(value: ast.expr, function: Reading) -> frozenset[str]:
    """`model` of build_optimizer(args, model), a function of this project that returns nothing but optimizers of what
    it is given."""
    if not isinstance(value, ast.Call) or not value.args:
        return frozenset()  # most of them
    path = path_of(value.func) or ""
    one = called(path, function.scope) if "opt" in path else None
    if one is None or any(isinstance(each, ast.Starred) for each in value.args):
        return frozenset()
    returned = [back.value for back in function.file.program.nodes(one.node).of(ast.Return)]
    made = [back for back in returned if isinstance(back, ast.Call) and makes_optimizer(back, one.scope)]
    names = {name for back in made for name in _given(back)}
    if not made or len(made) < len(returned) or not all(map(_is_told, made)) or not names <= set(one.scope.parameters):
        return frozenset()
    handed = [given for name, given in arguments(value, one) if name in names]
    return frozenset(part.id for given in handed for part in below(given) if isinstance(part, ast.Name))


def _given(made: ast.expr) -> Iterator[str]:
    """The names in whatever an optimizer is given."""
    parts = below(made.args[0]) if isinstance(made, ast.Call) and made.args else []
    yield from (part.id for part in parts if isinstance(part, ast.Name))


def _is_told(made: ast.expr) -> bool:
    """Whether an optimizer is given what modules are seen to have."""
    parts = below(made.args[0]) if isinstance(made, ast.Call) and made.args else []
    return any(isinstance(part, ast.Attribute) and part.attr == "parameters" for part in parts)


def _bound(function: Reading, held: frozenset[str]) -> dict[str, list[ast.expr]]:
    """The names that are called or handed on, are bound to new objects, and are given to no optimizer; with those."""
    functions = {one.node.name for one in function.file.program.roots.functions}
    asked = set[str]()
    for call in function.of(ast.Call):
        func = call.func
        last = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
        if isinstance(func, ast.Name):
            asked.add(last)
        if last in functions and path_of(func) is not None:
            asked |= {one.id for one in (*call.args, *(k.value for k in call.keywords)) if isinstance(one, ast.Name)}
    asked -= held
    bound: dict[str, list[ast.expr]] = {}
    for node in function.of(ast.Assign):
        for target in node.targets:
            several = isinstance(target, ast.Tuple | ast.List)
            for part, value in _pairs(target, node.value) if several else ((target, node.value),):
                if isinstance(part, ast.Name) and part.id in asked and isinstance(part.ctx, ast.Store):
                    bound.setdefault(part.id, []).append(value)
    own = {name: [one for one in values if not _moves(one, name)] for name, values in bound.items()}
    return {name: values for name, values in own.items() if values and all(isinstance(one, ast.Call) for one in values)}


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.AST, ast.expr]]:
    """model, head = Net(), Head(); of what comes as one, nobody gets a new object that is seen."""
    match target, value:
        case ((ast.Tuple(elts=parts) | ast.List(elts=parts)), (ast.Tuple(elts=values) | ast.List(elts=values))):
            if len(parts) == len(values):
                return [*zip(parts, values, strict=True)]
    return [(part, target) for part in below(target)]


def _through_it_alone(function: Reading, bound: dict[str, list[ast.expr]]) -> Iterator[tuple[Act, str]]:
    """Backwards of losses that go through such an object and through nothing else that has parameters: it is a module,
    or there was nothing to go through, and what is deposited there nobody steps."""
    deposits = function.having(Kind.DEPOSIT)  # another one goes through what is held
    if not 1 < len(deposits) <= _MOST or function.file.says("requires_grad") or not function.having(Kind.CONSUME):
        return
    called = {path_of(call.func) for call in function.of(ast.Call)}
    seen = [name for name in bound if name in called and not _is_torchs(name, function) and _is_seen(function, name)]
    if not seen:  # to follow a loss takes longer
        return
    ancestry: Ancestry | None = None
    for act in deposits:
        loss = loss_of(act.node) if isinstance(act.node, ast.Call) else None
        if loss is None or act.node is None or function.loop_around(act.node) is None:
            continue
        ancestry = ancestry or Ancestry(function, deep=0)
        calls = ancestry.of(loss)
        paths = [path_of(one.func) or "?" for one in calls if isinstance(one, ast.Call)]
        modules = {path for path in paths if not _is_torchs(path, function)}
        if len(paths) == len(calls) and len(modules) == 1 and modules <= set(seen):
            yield act, modules.pop()


def _is_apart(function: Reading, name: str, held: frozenset[str]) -> bool:
    """Whether nothing that an optimizer holds can be a part of it, or be called by it."""
    nodes = below(function.file.program.tree) if function.file.says("class ") else []
    classes = [part for node in nodes if isinstance(node, ast.ClassDef) for part in below(node)]
    taken = any(isinstance(part, ast.Name) and part.id in held for part in classes)
    bonds = Bonds(function)
    return not taken and not bonds.are_bound(name, held) and not bonds.are_handed_out(held)


def _is_torchs(path: str, function: Reading) -> bool:
    """torch.cat, F.mse_loss, criterion = nn.MSELoss(), Tensor = torch.cuda.FloatTensor"""
    made = function.scope.lookup(path)
    if made is not None:
        return made.role is Role.TORCH and made.made_by.rpartition(".")[2].endswith("Loss")
    named = [one.value for one in function.of(ast.Assign) if path in map(path_of, one.targets)]
    dotted = [function.scope.dotted(path_of(one) or path) for one in named] or [function.scope.dotted(path)]
    return all(one.partition(".")[0] in ("torch", "numpy") for one in dotted)


def _moves(value: ast.expr, name: str) -> bool:
    """head = head.cuda(), head = nn.DataParallel(head)"""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=same), attr=attr)) if same == name:
            return attr in _MOVES
        case ast.Call(args=[ast.Name(id=same), *_]) if same == name:
            return _wraps(value)
    return False


def _wraps(call: ast.Call) -> bool:
    return (path_of(call.func) or "").rpartition(".")[2] in ("DataParallel", "DistributedDataParallel")


def _stays(call: ast.AST, parents: Parents) -> bool:
    """Whether what a call gives back is dropped, or gets the name that it has already."""
    parent = parents.get(call)
    if isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Call):
        return any(isinstance(one, ast.Name) and _moves(parent.value, one.id) for one in parent.targets)
    return isinstance(parent, ast.Expr)


def _is_seen(function: Reading, name: str) -> bool:
    """Whether everything that is done with it is seen, and it is only called, moved about and saved."""
    asked: set[str] = set()

    def asks(node: ast.expr, parents: Parents) -> bool:
        parent = parents.get(node)
        if isinstance(parent, ast.Attribute):
            asked.add(parent.attr)
            call = parents.get(parent)
            return parent.attr in _TOLD or (parent.attr in _MOVES and call is not None and _stays(call, parents))
        if not isinstance(parent, ast.Call):
            return False
        return parent.func is node or (_wraps(parent) and _stays(parent, parents))

    text = within(function.file.text, function.node) if isinstance(function.node, ast.stmt) else function.file.text
    if name in function.scope.shared or re.search(rf"(?<![\w.]){name}\.(?:named_)?parameters\b", text):
        return False  # a look at the text costs less than one at all names
    return is_only_asked(name, function.node, function.scope, asks) and ("eval" not in asked or "train" in asked)


def _deposit_through(function: Reading, name: str) -> Act | None:
    """The backward of a loss that goes through a module, here or in a function that is handed it."""
    for reading, its in _known_as(function, name):
        if not reading.having(Kind.CONSUME):
            continue
        deposits = [(act, act.node) for act in reading.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
        losses = [(act, loss) for act, node in deposits if (loss := loss_of(node)) is not None]
        # What is read into has no name of its own any more: a module of this project is found by a look from above.
        for deep in (True, False) if losses else ():
            ancestry = Ancestry(reading) if deep else Ancestry(reading, deep=0)
            for act, loss in losses:
                paths = {path_of(one.func) or "?" for one in ancestry.of(loss) if isinstance(one, ast.Call)}
                known = deep or all(_passes_on(path, reading) for path in paths)
                others = any(not _is_torchs(one, reading) for one in paths - {its})
                if known and others and paths & {its, f"{its}.forward"}:
                    return act
    return None


def _passes_on(path: str, function: Reading) -> bool:
    """Whether what a call gives goes through all it is given: of a module that cuts nothing off. A function may drop
    it."""
    one = called(path, function.scope)
    if one is None:
        return True
    text = within(one.scope.module.home.text, one.node) if one.scope.module.home is not None else "detach"
    return one.node.name == "forward" and not any(word in text for word in _CUTS)


def _known_as(function: Reading, name: str) -> Iterator[tuple[Reading, str]]:
    """Where it is called: here, and in the functions of this file that are handed it, under their names for it."""
    yield function, name
    program = function.file.program
    for call in function.of(ast.Call):
        if any(path_of(one) == name for one in (*call.args, *(one.value for one in call.keywords))):
            one = called(path_of(call.func) or "", function.scope)
            if one is not None and one.node in program.relevant:
                reading = Reading(one.node, program.function(one), one.scope, function.file)
                yield from ((reading, its) for its, given in arguments(call, one) if path_of(given) == name)
