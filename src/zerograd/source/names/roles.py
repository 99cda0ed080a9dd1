"""What an expression makes: an optimizer, a scaler, a schedule, something of torch's, an object of this project."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from zerograd.source.names.scopes import Binding, Role, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of

_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
# What they are given they copy, without its graph.
_COPIES = ("torch.tensor", "torch.autograd.Variable")
_SCHEDULES = ("torch.optim.lr_scheduler.", "torch.optim.swa_utils.SWALR")
_BESIDE = ("torch.optim.lr_scheduler.", "torch.optim.swa_utils.")
_TORCH_SCHEDULES = frozenset({"torch", "transformers", "pytorch_transformers", "diffusers"})


def role_of(value: ast.AST, scope: Scope) -> Binding | None:
    if isinstance(value, _NAMED):
        path = path_of(value)
        return None if path is None else scope.lookup(path)
    if not isinstance(value, ast.Call):
        return None
    path = path_of(value.func)
    if path is not None:
        if path.endswith(".scale") and "scaler" in path.lower() and not _scales_nothing(path[:-6], scope):
            return Binding(Role.SCALED_LOSS)
        called = scope.lookup(path)
        if called is not None and called.role is Role.TORCH:
            return called  # what a torch module returns is torch's too
        dotted = scope.dotted(path)
        # x.view(3), of something that is not imported: no class of this project has such a name.
        of_value = dotted == path and "." in path and not scope.module.stars
        made = _made_by_torch(dotted) if of_value else _made_by(dotted, scope)
        if made is not None:
            return _made_with(value, made, scope)
    # nn.Linear(3, 4).to(device), model(x).mean(): a method of a torch object returns another.
    inner = role_of(value.func.value, scope) if isinstance(value.func, ast.Attribute) else None
    return inner if inner is not None and inner.role in (Role.TORCH, Role.INSTANCE) else None


def _made_with(call: ast.Call, made: Binding, scope: Scope) -> Binding:
    """What is made, with what the call says of it."""
    match made.role:
        case Role.TORCH:
            return Binding(Role.LEAF, made.made_by) if made.made_by in _COPIES and _requires_grad(call) else made
        case Role.SCALER:
            return made._replace(over=("off",)) if _is_off(call) else made
        case Role.SCHEDULER:
            path = _scheduled(call, made.made_by, scope)
            return made._replace(over=(path,) if path else ())
        case Role.OPTIMIZER:
            return made._replace(over=tuple(modules_of(call.args[0])) if call.args else ())
        case Role.INSTANCE:
            cls = scope.class_scope(made.made_by)
            return made._replace(keeps=tuple(_kept(call, cls, scope)), cls=cls) if cls is not None else made
    return made


def _scheduled(call: ast.Call, maker: str, scope: Scope) -> str | None:
    """The optimizer that a schedule is made for: named as such; else the first that torch's is given, or of what
    get_scheduler(kind, optimizer) is given the one that is known, or called, an optimizer."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "optimizer"]
    paths = [scope.slot(one) for one in named or call.args[: 1 if maker.startswith("torch.") else 2]]
    if named or maker.startswith("torch."):
        return paths[0] if paths else None
    known = [path for path in paths if path and (made := scope.lookup(path)) and made.role is Role.OPTIMIZER]
    return next((path for path in known or paths if path and (known or "opt" in path.rpartition(".")[2])), None)


def _is_off(call: ast.Call) -> bool:
    """GradScaler(enabled=False)"""
    told = (keyword.value for keyword in call.keywords if keyword.arg == "enabled")
    return any(isinstance(value, ast.Constant) and value.value is False for value in told)


def _scales_nothing(path: str, scope: Scope) -> bool:
    """Whether a scaler may be an object of this project that stands in where none is wanted, or
    is switched off: it gives the loss back."""
    made = scope.lookup(path)
    if made is not None and made.role is Role.SCALER and made.over:
        return True
    scale = made.cls.method("scale") if made is not None and made.cls is not None else None
    last = scale.node.body[-1] if scale is not None else None
    return isinstance(last, ast.Return) and isinstance(last.value, ast.Name)


def _requires_grad(call: ast.Call) -> bool:
    """Of something, not of a number: loss = torch.tensor(0.0, requires_grad=True) is where a sum begins."""
    if not call.args or isinstance(call.args[0], ast.Constant | ast.List):
        return False
    asked = (keyword.value for keyword in call.keywords if keyword.arg == "requires_grad")
    return any(isinstance(value, ast.Constant) and value.value is True for value in asked)


def _made_by(dotted: str, scope: Scope) -> Binding | None:
    return _made_by_torch(dotted) or _made_here(dotted, scope)


@lru_cache(maxsize=4096)  # the same names are called all the time
def _made_by_torch(dotted: str) -> Binding | None:
    """By the name alone."""
    last = dotted.rpartition(".")[2]
    if dotted.startswith(_SCHEDULES) or last.startswith(("get_scheduler", "get_linear_schedule")):
        # ReduceLROnPlateau is told a metric and moves when it likes: its place in the loop says nothing.
        return Binding(Role.TORCH if last == "ReduceLROnPlateau" else Role.SCHEDULER, dotted)
    if names_torchs_optimizer(dotted):
        return Binding(Role.OPTIMIZER, dotted)
    if last == "GradScaler":
        return Binding(Role.SCALER, dotted)
    return Binding(Role.TORCH, dotted) if dotted.partition(".")[0] == "torch" else None


def _made_here(dotted: str, scope: Scope) -> Binding | None:
    """By a class of this project."""
    cls = scope.class_scope(dotted)
    if cls is None:
        return None
    if any(base.startswith("torch.optim.") and ".lr_" not in base for one in cls.lineage() for base in one.bases):
        return Binding(Role.OPTIMIZER, dotted)
    schedules = any(base.rpartition(".")[2] in ("_LRScheduler", "LRScheduler", "LambdaLR") for base in cls.bases)
    return Binding(Role.SCHEDULER if schedules and not _moves_by_itself(cls) else Role.INSTANCE, dotted)


def _moves_by_itself(cls: Scope) -> bool:
    """Whether a schedule has a step() of its own, and nothing of torch's: it counts, and warns, as it likes."""
    own = cls.method("step")
    if own is None:
        return False
    calls = (part.func for part in below(own.node) if isinstance(part, ast.Call))
    return not any(isinstance(func, ast.Attribute) and func.attr in ("step", "get_lr") for func in calls)


def names_torchs_optimizer(dotted: str) -> bool:
    """torch.optim.Adam; not what else lies there: schedules, and AveragedModel(model)."""
    return dotted.startswith("torch.optim.") and not dotted.startswith(_BESIDE)


def has_own_schedules(module: Scope) -> bool:
    """Whether a file knows schedules that are not torch's: those may be meant to move before the first step."""
    named = [dotted for name, dotted in module.imports.items() if _is_schedule(name)]
    named += [name for name in module.class_scopes if _is_schedule(name)]
    return any(
        dotted.partition(".")[0] not in _TORCH_SCHEDULES
        and ((made := _made_by(dotted, module)) is None or made.role is not Role.SCHEDULER)
        for dotted in named
    )


def _is_schedule(name: str) -> bool:
    """A class that is named for it."""
    return name[:1].isupper() and "sched" in name.lower()


def _kept(call: ast.Call, cls: Scope, scope: Scope) -> Iterator[tuple[str, str]]:
    """The paths that an object is made with and keeps under names of its own: Trainer(model, optimizer)."""
    made = cls.method("__init__")
    if made is None:
        return
    given = dict(zip(made.scope.parameters[1:], call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    kept = {attribute: name for parent in reversed(cls.lineage()) for attribute, name in parent.kept.items()}
    for attribute, parameter in kept.items():
        path = scope.slot(given[parameter]) if parameter in given else None
        if path is not None:
            yield attribute, path


def modules_of(node: ast.expr) -> Iterator[str]:
    """`X` of `X.parameters()`, alone or chained, added and listed with others."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="parameters")):
            path = path_of(value)
            if path is not None:
                yield path
        case ast.Call(func=func, args=args) if (path_of(func) or "").rpartition(".")[2] in ("chain", "list", "filter"):
            for argument in args:
                yield from modules_of(argument)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from modules_of(left)
            yield from modules_of(right)
