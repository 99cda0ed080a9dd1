"""What an optimizer was given: parameters that the model has since replaced (ZG010)."""

import ast
from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.holding.regrown import makes_layer, regrows
from zerograd.source.holding.rounds import goes_round
from zerograd.source.lowering.skeleton import Act, walk
from zerograd.source.names.opaque import names_class
from zerograd.source.names.roles import dotted_as, makes_optimizer, role_of
from zerograd.source.names.scopes import Function, Role, Scope
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import ENDINGS
from zerograd.source.values.mentions import Mentions
from zerograd.source.values.reading import Reading

_FEW = 12  # optimizers of a function, and changes of its model, that are looked at: a tangle of hundreds takes seconds
# These make parameters of their own; torch's own convert_sync_batchnorm() does not.
_WRAPPERS = ("FullyShardedDataParallel", "fully_shard", "get_peft_model", "convert_syncbn_model", "deepcopy")
_LOADERS = ("load", "from_pretrained")
_BRINGS = ("torch.load", "copy.deepcopy")
# A model that is loaded for something else.
_ELSE = pattern(r"test|eval|infer|play|demo|predict|mode(?!l)|valid|train")
_LATER = (inf, inf)
_NETWORK = pattern(
    r"^(?!.*(path|dir|file|name|size|dim|cfg|config|type|save)).*(model|net|backbone|encoder|base|module)"
)
_MAKERS = frozenset({ast.Call, ast.ListComp})
_REMAKES = pattern(r"reset|re?build|renew|remake|refill|refresh|replace|swap|configure|(^|\.)(set|add|init|make)_?")


# What every module and every logger has: no method that gives it layers.
_COMMON = frozenset(
    {"train", "eval", "to", "cuda", "zero_grad", "load_state_dict", "apply", "step", "backward", "append"}
)
_COMMON |= {"add_argument", "info", "write", "update", "close", "add_scalar", "requires_grad_", "half", "float"}
_Change = ast.Assign | ast.Expr


class _Made(NamedTuple):
    """optimizer = SGD(model.parameters())"""

    node: ast.Assign
    optimizer: str
    model: str


class _Training(NamedTuple):
    """Who may train a model with its optimizer."""

    asked: list[ast.Call]  # the calls of the model
    together: list[ast.Call]  # those that both are handed to
    inside: list[ast.Call]  # those of functions that know both by their names
    steps: list[ast.AST]  # of the optimizer


def orphaned(function: Reading) -> Iterator[Finding]:
    """Those of a function; with the first method of a class that steps also those of its __init__, which steps not."""
    yield from _orphaned(function)
    cls, program = function.scope.owner, function.file.program
    init = cls.functions.get("__init__") if cls is not None and function.having(Kind.CONSUME) else None
    if init is not None and init.node not in program.relevant and init.node not in function.file.built:
        function.file.built.add(init.node)
        yield from _orphaned(Reading(init.node, (), init.scope, function.file))


def _orphaned(function: Reading) -> Iterator[Finding]:
    """An optimizer, then new parameters for its model, then a step of the old optimizer."""
    assigns = function.of(ast.Assign)
    if not _binds_optimizer(function.scope) and not any(node.value.__class__ is ast.ListComp for node in assigns):
        return
    made = [
        (at, one)
        for at, node in enumerate(assigns)
        if node.value.__class__ in _MAKERS and (one := _made(node, function.scope)) is not None
    ]
    calls, called = Mentions(function), _called_on(function) if made else {}
    for at, one in made[:_FEW]:
        changes: list[_Change] = [node for node in assigns[at + 1 :] if _replaces(node, one.model, function.scope)]
        changes += [node for node in called.get(one.model, ()) if _regrows(node, one, function)]
        trained = None
        for node in islice((node for node in changes if not function.excludes(one.node, node)), _FEW):
            if _wraps_it(node, one.model, calls):
                continue
            trained = trained or _training(function, one, calls)
            use = _used(function, one, node, trained)
            if use is None or _is_mended(function, one, node, use, calls):
                continue
            what, where = written(node), f"on line {one.node.lineno}"
            related = (Related(function.site(one.node), "gives the optimizer its parameters"),)
            names = {"what": what, "model": one.model, "optimizer": one.optimizer, "made": where}
            yield note(REGISTRY["ZG010"], function.site(node), certain=True, related=related, **names)


def _called_on(function: Reading) -> dict[str, list[ast.Expr]]:
    """The statements that call a method which is not torch's own, by what they call it on."""
    found: dict[str, list[ast.Expr]] = {}
    for node in function.of(ast.Expr):
        match node.value:
            case ast.Call(func=ast.Attribute(value=on, attr=attr)) if attr not in _COMMON:
                found.setdefault(path_of(on) or "", []).append(node)
    return found


def _regrows(node: ast.Expr, made: _Made, function: Reading) -> bool:
    return place(node) > place(made.node) and regrows(node, made.model, made.optimizer, function)


def _binds_optimizer(scope: Scope) -> bool:
    """Whether an optimizer over some model's parameters is bound here at all."""
    homes = (scope, scope.owner) if scope.owner is not None else (scope,)
    return any(one.role is Role.OPTIMIZER and one.over for home in homes for one in home.bindings.values())


def _made(node: ast.Assign, scope: Scope) -> _Made | None:
    made = node.value
    if not isinstance(made, ast.ListComp) and not (isinstance(made, ast.Call) and _is_given_parameters(made)):
        return None  # nearly all of them
    match node:
        case ast.Assign(targets=[target], value=ast.ListComp(elt=ast.Call() as call, generators=[each])):
            # optimizers = [Adam(net.parameters()) for net in nets]
            every, several = path_of(target), path_of(each.iter)
            match call.args[:1]:
                case [ast.Call(func=ast.Attribute(value=value, attr="parameters"), args=[])] if every and several:
                    if path_of(value) == path_of(each.target) is not None and makes_optimizer(call, scope):
                        return _Made(node, f"{every}[*]", f"{several}[*]")
        case ast.Assign(
            targets=[target],
            value=ast.Call(args=[ast.Call(func=ast.Attribute(value=value, attr="parameters"), args=[]), *_]) as call,
        ):
            optimizer, model = path_of(target), path_of(value)
            if optimizer and model and "[*]" not in model and makes_optimizer(call, scope):
                return _Made(node, optimizer, model)
    return None


def _is_given_parameters(call: ast.Call) -> bool:
    given = call.args[0] if call.args else None
    return isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "parameters"


def _replaces(node: ast.Assign, model: str, scope: Scope) -> bool:
    """Whether an assignment gives the model parameters that it did not have."""
    if len(node.targets) != 1 or not isinstance(node.value, ast.Call):
        return False
    target, call = path_of(node.targets[0]), node.value
    if target is None or not (target == model or target.startswith(f"{model}.")):
        return False
    dotted = dotted_as(path_of(call.func) or "", "nn", scope)
    last = dotted.rpartition(".")[2]
    if target != model:
        return makes_layer(call, scope)
    if any(path_of(part) == model for part in below(call)):
        return last in _WRAPPERS
    if last.startswith(_LOADERS) and names_class(dotted.rpartition(".")[0], scope):
        return True  # Model.load(path)
    binding = role_of(call, scope)
    built = binding is not None and (binding.role is Role.INSTANCE or binding.made_by.startswith("torch.nn."))
    return built or _is_built(call) or dotted.startswith("torchvision.models.") or dotted in _BRINGS


def _is_built(made: ast.expr) -> bool:
    """VAE(8), Net(8).to(device): by what is called as a class is."""
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and isinstance(made.func.value, ast.Call):
        made = made.func.value
    name = (path_of(made.func) or "") if isinstance(made, ast.Call) else ""
    return name.rpartition(".")[2][:1].isupper()


def _wraps_it(change: _Change, model: str, calls: "Mentions") -> bool:
    """model = backbone, and model = Wrapper(backbone): the same parameters in another object, or some of them."""
    call = change.value
    if isinstance(call, ast.Call) and (path_of(call.func) or "").rpartition(".")[2] == "deepcopy":
        return False
    given = [*call.args, *(one.value for one in call.keywords)] if isinstance(call, ast.Call) else []
    paths = {path_of(one) or "" for one in given} - {"", model}
    if any(_NETWORK.search(path.rpartition(".")[2].lower()) for path in paths):
        return True
    return not calls.alike.get(model, set()).isdisjoint(paths)


def _is_mended(function: Reading, made: _Made, change: _Change, use: tuple[float, float], calls: "Mentions") -> bool:
    """Whether the optimizer is made anew, given the new parameters, or joined by another one between change and use; or
    may be by somebody else."""

    here = place(change)

    def between(node: ast.AST) -> bool:
        there = place(node)
        return here < there and there[0] < use

    rebound = any(map(between, calls.stored.get(made.optimizer, ()))) or _is_shared(function, made.optimizer)
    joined = any(map(between, calls.making))
    grown = made.optimizer.startswith("self.") and function.file.says("add_param_group")
    return rebound or joined or grown or made.optimizer in calls.regrouped


def _is_shared(function: Reading, optimizer: str) -> bool:
    """Whether some function of the file sets the variable of another: global optimizer."""
    words = [word for word in ("global ", "nonlocal ") if function.file.says(word)]
    nodes = below(function.file.program.tree) if words else []
    return any(isinstance(node, ast.Global | ast.Nonlocal) and optimizer in node.names for node in nodes)


def _training(function: Reading, made: _Made, calls: Mentions) -> _Training:
    beside = {id(call) for call in calls.given.get(made.optimizer, ())}
    steps = [act.node for act in function.having(Kind.CONSUME) if act.slot == made.optimizer]
    return _Training(
        asked=calls.of.get(made.model, []),
        together=[call for call in calls.given.get(made.model, ()) if id(call) in beside],
        inside=[call for run, every in calls.inside if _trains_inside(function, run, made) for call in every],
        steps=[node for node in steps if node is not None],
    )


def _used(function: Reading, made: _Made, change: _Change, trained: _Training) -> tuple[float, float] | None:
    """Where model and optimizer train together behind the change, or, later than all of it, in the next round of a loop
    around it or in another method."""
    tests = (written(branch.test).lower() for branch, _ in function.arms(change))
    if not any(map(_ELSE.search, tests)) and _trains_elsewhere(function, made):
        return _LATER
    uses: list[ast.AST] = [call for call in trained.together if call is not change.value]
    uses += trained.inside
    rounds = [loop for loop in function.loops if holds(loop, change) and not holds(loop, made.node)]
    asked = [call for call in trained.asked if call is not change.value]
    if any(place(call) > place(change) or any(holds(loop, call) for loop in rounds) for call in asked):
        uses += trained.steps
    if any(map(_REMAKES.search, {path_of(one.func) or "" for one in uses if isinstance(one, ast.Call)})):
        return None  # reset(optimizer, model)
    for branch in [one for one, arm in function.arms(change) if _leaves(one.body if arm else one.orelse)]:
        uses = [node for node in uses if holds(branch, node)]
    later = (node for node in sorted(uses, key=place) if place(node) > place(change))
    first = next((node for node in later if not function.excludes(change, node)), None)
    if first is not None:
        return place(first)[0]
    rounds = [loop for loop in rounds if goes_round(loop, change, made.model, function)]
    return _LATER if any(holds(loop, node) for loop in rounds for node in uses) else None


def _trains_inside(function: Reading, called: Function, made: _Made) -> bool:
    """Whether a function that is called at the top of a file trains with both, by the names they have there."""
    if called.scope.owns(made.model) or called.scope.owns(made.optimizer):
        return False
    program = function.file.program
    steps = any(
        isinstance(act, Act) and act.kind is Kind.CONSUME and act.slot == made.optimizer
        for act in walk(program.body_of(called))
    )
    return steps and any(path_of(call.func) == made.model for call in program.nodes(called.node).of(ast.Call))


def _leaves(block: list[ast.stmt]) -> bool:
    """Whether a branch ends in a way out: what stands behind it never sees what it did."""
    last = block[-1] if block else None
    ends = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and path_of(last.value.func) in ENDINGS
    return ends or isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)


def _trains_elsewhere(function: Reading, made: _Made) -> bool:
    """Whether an object that was built so trains with both in other methods: they were made in __init__, for good."""
    cls = function.scope.owner
    kept = made.model.startswith("self.") and made.optimizer.startswith("self.")
    if cls is None or not kept or getattr(function.node, "name", "") != "__init__":
        return False
    program = function.file.program
    others = [method for method in cls.functions.values() if method.node is not function.node]
    stepped = called = False
    for method in others:
        nodes = program.nodes(method.node)
        targets = {path_of(target) for node in nodes.of(ast.Assign) for target in node.targets}
        if made.optimizer.removesuffix("[*]") in targets or any(_is_like(path, made.optimizer) for path in targets):
            return False
        stepped |= any(
            isinstance(act, Act) and act.kind is Kind.CONSUME and _is_like(act.slot, made.optimizer)
            for act in walk(program.body_of(method))
        )
        paths = ((path_of(call.func) or "").removesuffix(".forward") for call in nodes.of(ast.Call))
        called |= any(path.count(".") == made.model.count(".") and _is_like(path, made.model) for path in paths)
    return stepped and called


def _is_like(path: str | None, one: str) -> bool:
    """Whether a path is this one, or for one of several any of them: nets[i], nets[0]."""
    return path is not None and (path == one or (one.endswith("[*]") and path.startswith(one.removesuffix("*]"))))
