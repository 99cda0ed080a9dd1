"""Optimizers that bring parameters of their own: out of a checkpoint, as they were, or copied with them (ZG010).

checkpoint = torch.load(path)
model.load_state_dict(checkpoint["model"])              copies numbers into the parameters that are there
self.optimizer = checkpoint["optimizer"]                brings its own
self.optimizer = deepcopy(Adam(model.parameters()))     holds copies of them
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.calls import site_of
from zerograd.source.names.roles import makes_optimizer, modules_of
from zerograd.source.names.scopes import Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File, Reading

_OPTIMIZER = pattern(r"(^|[._])\w*optim(i[sz]er)?(_\w+)?$")
_MODEL = pattern(r"model|net|generator|discriminator|encoder|decoder|actor|critic")
_STATE = pattern(r"state|dict|param|name|type|class|config|args?$")
_COPIES = pattern(r"deepcopy\(\s*[\w.]*(optim|[A-Z])[\w.]*\(")
_TAKES = pattern(r"opt\w* *= *\w+\[['\"]")
_CURE = "save optimizer.state_dict() and load it with optimizer.load_state_dict()"


def detect(file: File) -> Iterator[Finding]:
    if file.says("deepcopy(") and _COPIES.search(file.text):
        yield from _copied(file)
    if not file.says("load_state_dict") or not file.says("torch.load") or not _TAKES.search(file.text):
        return
    program = file.program
    roots: list[tuple[ast.AST, Scope]] = [(program.tree, program.roots.module), *program.roots.functions]
    for node, scope in roots:
        if isinstance(node, ast.stmt) and "load_state_dict" not in within(file.text, node):
            continue
        yield from _taken(Reading(node, (), scope, file))


def _copied(file: File) -> Iterator[Finding]:
    for node in below(file.program.tree):
        match node:
            case ast.Assign(targets=[target], value=ast.Call(func=func, args=[ast.Call(args=[_, *_]) as inner])) if (
                path_of(func) in ("deepcopy", "copy.deepcopy") and makes_optimizer(inner, file.program.roots.module)
            ):
                model = next(modules_of(inner.args[0]), "")
                if model and file.says(f"{written(target)}.step("):
                    told = f"{written(func)}(...) copies the parameters, so {written(target)} holds none of {model}"
                    found = note(
                        REGISTRY["ZG010"],
                        site_of(node, file.path),
                        certain=True,
                        what="",
                        model=model,
                        optimizer=written(target),
                        made="",
                    )
                    yield found._replace(
                        message=told,
                        cure="create a new optimizer with the parameters of the model instead of copying one",
                    )


def _taken(function: Reading) -> Iterator[Finding]:
    assigned = function.of(ast.Assign)
    loaded = {path_of(node.targets[0]) or "" for node in assigned if _is_loaded(node.value, function)}
    calls = function.of(ast.Call) if loaded else []
    fills = [call for call in calls if (path_of(call.func) or "").endswith(".load_state_dict")]
    filled = [call for call in fills if call.args and _is_of(call.args[0], loaded, function)]
    filled = [call for call in filled if _MODEL.search(path_of(call.func) or "")]
    if any(_is_item(node.value, loaded) and _MODEL.search(path_of(node.targets[0]) or "") for node in assigned):
        return  # the model comes with it, as it was, or under a name that hides a state
    for node in assigned if filled else ():
        optimizer = path_of(node.targets[0]) or ""
        named = _OPTIMIZER.search(optimizer) is not None and _STATE.search(optimizer) is None
        if named and _is_item(node.value, loaded) and not any(_is_told(call, optimizer) for call in calls):
            model = (path_of(filled[0].func) or "").removesuffix(".load_state_dict")
            told = f"{written(node)} loads an optimizer with its old parameters"
            found = note(
                REGISTRY["ZG010"], function.site(node), certain=True, what="", model=model, optimizer=optimizer, made=""
            )
            yield found._replace(message=told, cure=_CURE)


def _is_loaded(value: ast.expr, function: Reading) -> bool:
    return isinstance(value, ast.Call) and function.scope.dotted(path_of(value.func) or "") == "torch.load"


def _is_item(value: ast.expr, loaded: set[str]) -> bool:
    """checkpoint["optimizer"]: the object itself, as far as its name tells."""
    match value:
        case ast.Subscript(value=whole, slice=ast.Constant(value=str() as key)):
            return path_of(whole) in loaded and _STATE.search(key) is None
    return False


def _is_of(value: ast.expr, loaded: set[str], function: Reading) -> bool:
    """Whether a state comes out of the same checkpoint, directly or by a name."""
    path = path_of(value) or ""
    if any(path == whole or path.startswith(f"{whole}[") for whole in loaded):
        return True
    made = [node.value for node in function.of(ast.Assign) if any(path_of(target) == path for target in node.targets)]
    return any((path_of(one) or "").startswith(tuple(f"{whole}[" for whole in loaded)) for one in made)


def _is_told(call: ast.Call, optimizer: str) -> bool:
    """other.load_state_dict(optimizer): a state, under a short name; optimizer.set_parameters(model.parameters())."""
    if (path_of(call.func) or "").startswith(f"{optimizer}."):
        return any("param" in written(argument) for argument in call.args)
    return any(path_of(argument) == optimizer for argument in call.args) and (path_of(call.func) or "").endswith(
        "_dict"
    )
