"""Accelerate in half precision, with an optimizer that it was never given (ZG202, ZG201).

accelerator = Accelerator(mixed_precision="fp16")
model, loader = accelerator.prepare(model, loader)
accelerator.backward(loss)                                # multiplies by the loss scale
accelerator.clip_grad_norm_(model.parameters(), 1.0)      # divides it out for the optimizers it knows: for none
optimizer.step()                                          # torch's own

Certain where "fp16" is written down, or is what a parameter is unless somebody says otherwise; where the optimizer is
made here, and by its name nobody prepares one in this file; and where no file beside this one does it from outside.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import Reading

_BACKWARD = pattern(r"(^|\.)accelerator\.backward$")
_HALF = "fp16"
# Whoever speaks of the scale may divide it out; DeepSpeed has one of its own; handlers may switch it off.
_SCALE = pattern(r"unscale|\.scaler\b|GradScaler\w*\(|get_scale|deep_?speed|kwargs_handlers", re.IGNORECASE)
_CURE = "optimizer = accelerator.prepare(optimizer), or with the model in one call"


def detect(function: Reading) -> Iterator[Finding]:
    file = function.file
    deposits = [act for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    scaled = [path_of(act.node.func) or "" for act in deposits if isinstance(act.node, ast.Call)]
    if not deposits or not all(map(_BACKWARD.search, scaled)):
        return
    if not file.says("Accelerator(") or not file.says("mixed_precision") or not file.says(_HALF):
        return
    accelerator = scaled[0].removesuffix(".backward")
    if function.having(Kind.RESCALE) or not _scales(accelerator, function) or _SCALE.search(file.text) is not None:
        return
    for slot in dict.fromkeys(act.slot for act in function.having(Kind.CONSUME)):
        steps = [act for act in function.having(Kind.CONSUME) if act.slot == slot]
        if slot is None or not _is_plain(slot, function):
            continue
        related = (Related(deposits[0].site, "the gradient is deposited here, times the loss scale"),)
        for clip in function.having(Kind.CLIP):
            if clip.what.startswith(f"{accelerator}."):
                found = note(REGISTRY["ZG201"], clip.site, certain=True, related=related, clip=clip.what)
                yield found._replace(cure=_CURE)
        names = {"step": steps[0].what, "scaled": f"that are still multiplied by the loss scale of {accelerator}"}
        found = note(REGISTRY["ZG202"], steps[0].site, certain=True, related=related, **names)
        yield found._replace(cure=_CURE)


def _scales(accelerator: str, function: Reading) -> bool:
    """Whether the accelerator is made here, once, for half precision."""
    made = list(_made(accelerator, function))
    if len(made) != 1:
        return False
    where, value = made[0]
    match value:
        case ast.Call(func=func, keywords=keywords) if (path_of(func) or "").rpartition(".")[2] == "Accelerator":
            asked = [keyword.value for keyword in keywords if keyword.arg == "mixed_precision"]
            return len(asked) == 1 and _is_half(asked[0], where)
    return False


def _is_half(value: ast.expr, where: ast.AST) -> bool:
    """ "fp16"; kind if amp else "no", of parameters that are "fp16" and True unless somebody says otherwise."""
    if isinstance(value, ast.IfExp):
        chosen = _known(value.test, where)
        return isinstance(chosen, bool) and _is_half(value.body if chosen else value.orelse, where)
    return _known(value, where) == _HALF


def _known(value: ast.expr, where: ast.AST) -> object:
    if isinstance(value, ast.Constant):
        return value.value
    if not isinstance(value, ast.Name) or not isinstance(where, ast.FunctionDef):
        return None
    given = where.args
    last = given.args[len(given.args) - len(given.defaults) :]
    pairs = [*zip(last, given.defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    default = next((its for argument, its in pairs if argument.arg == value.id), None)
    return default.value if isinstance(default, ast.Constant) else None


def _made(path: str, function: Reading) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Every assignment to a path that is seen here: in this function, in the methods of its class, in the file."""
    program, scope = function.file.program, function.scope
    homes: list[tuple[ast.AST, Scope]] = [(function.node, scope)]
    if path.startswith("self.") and scope.owner is not None:
        methods: list[Function] = [method for cls in scope.owner.lineage() for method in cls.functions.values()]
        homes = [(method.node, method.scope) for method in methods]
    elif not scope.owns(path):
        homes = [(program.tree, program.roots.module)]
    for node, _ in homes:
        for one in program.nodes(node).of(ast.Assign):
            for target in one.targets:
                names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
                if any(path_of(name) == path for name in names):
                    yield node, one.value


def _is_plain(slot: str, function: Reading) -> bool:
    """Whether an optimizer is torch's own, made here and never prepared."""
    made = [value for _, value in _made(slot, function)]
    if not made or slot in function.scope.parameters:
        return False
    if not all(isinstance(value, ast.Call) and makes_optimizer(value, function.scope) for value in made):
        return False
    last = slot.rpartition(".")[2]
    calls = [node for node in below(function.file.program.tree) if isinstance(node, ast.Call)]
    prepares = [call for call in calls if "prepare" in (path_of(call.func) or "").rpartition(".")[2]]
    given = [one for call in prepares for one in (*call.args, *(keyword.value for keyword in call.keywords))]
    names = [(path_of(one) or "*").rpartition(".")[2].lower() for one in given]
    if any("opt" in name or "*" in name or name == last for name in names):
        return False
    outside = re.compile(rf"prepare\([^)]*\w\.{re.escape(last)}\b") if "." in slot else None
    beside = function.file.beside if outside is not None else []
    return beside is not None and not any(outside.search(text) for text in beside if outside is not None)
