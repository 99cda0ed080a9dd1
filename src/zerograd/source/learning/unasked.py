"""Tensors that an optimizer holds and that nobody asked a gradient of: it steps, and they stay what they are (ZG003).

latent = torch.randn(1, 8)
optimizer = torch.optim.Adam([latent])        # without requires_grad=True its .grad stays None

Silent where the file asks gradients of anything but the weights of a model, reads or writes a `.grad`, or uses the
tensor for nothing else: a stand-in to draw a schedule with.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.leaves import makes_leaf
from zerograd.source.graphs.makers import MAKES
from zerograd.source.names.roles import names_torchs_optimizer, role_of
from zerograd.source.names.scopes import Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import CUTS, SAME
from zerograd.source.values.definitions import assigned_by, definitions_of
from zerograd.source.values.reading import File, Reading

_NAMES = ("SGD", "Adam", "AdamW", "LBFGS", "RMSprop", "Adagrad")
# Adam([, Adam(params=[: the bracket first, which is what makes a search fast.
_HOLDS = pattern(rf"\((?=\[|params=\[|\n)(?:{'|'.join(rf'(?<={name}.)' for name in _NAMES)})")
_ASKS = pattern(r"\.requires_grad(_|\s*[|,]?=(?!=)\s*(?!\s|False))|['\"]requires_grad['\"]")
_FEW = 24  # tensors that somebody lists by hand
_MADE = MAKES | {"tensor", "from_numpy", "Tensor", "FloatTensor", "empty", "eye", "linspace", "detach"}


def detect(file: File) -> Iterator[Finding]:
    if not file.says("backward(") or file.reads_gradients or not _HOLDS.search(file.text) or _asks(file):
        return
    program = file.program
    roots: list[tuple[ast.AST, Scope]] = [(program.tree, program.roots.module)]
    roots += [one for one in program.roots.functions if _HOLDS.search(within(file.text, one.node))]
    for node, scope in roots:
        yield from _inside(Reading(node, (), scope, file))


def _asks(file: File) -> bool:
    """Whether a gradient is asked of something that has a name already: for t in latents: t.requires_grad_()."""
    return file.says("requires_grad") and _ASKS.search(file.text) is not None


def _inside(function: Reading) -> Iterator[Finding]:
    for call in function.of(ast.Call):
        given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "params")]
        holds_some = [one for params in given if isinstance(params, ast.List) for one in _held(params)]
        made = role_of(call, function.scope) if holds_some else None
        if made is None or not names_torchs_optimizer(made.made_by):
            continue  # another may move them without a gradient
        for held in holds_some[:_FEW]:
            path = path_of(held) or ""
            if _is_plain(path, function) and _is_used(path, function, call):
                found = note(REGISTRY["ZG003"], function.site(held), certain=True, step=path)
                yield found._replace(
                    message=f"{path} is given to an optimizer and requires no gradient: no step will change it",
                    cure=f"make it with requires_grad=True, or call {path}.requires_grad_()",
                )


def _held(params: ast.expr) -> Iterator[ast.expr]:
    """[a, b], [{"params": [a]}, {"params": b}]: those that have names."""
    match params:
        case ast.List(elts=items) | ast.Tuple(elts=items):
            for item in items:
                yield from _held(item)
        case ast.Dict(keys=keys, values=values):
            named = zip(keys, values, strict=True)
            yield from (
                one
                for key, value in named
                if isinstance(key, ast.Constant) and key.value == "params"
                for one in _held(value)
            )
        case ast.Name() | ast.Attribute():
            yield params


def _is_plain(path: str, function: Reading) -> bool:
    """Whether all that it is ever assigned are tensors made anew."""
    scope, file = function.scope, function.file
    if path.startswith("self.") and scope.owner is not None:
        made = [one for _, one in assigned_by(scope.owner, path, file)]
        if any(not _is_new(value, function) for value in _assigned_anywhere(path, file)):
            return False  # a class that derives from this one may make it a parameter
    elif path.isidentifier() and path not in scope.parameters and not _is_shared(path, file):
        made = definitions_of(function).every(path)
    else:
        return False
    whole = [one for one in made if one.at is None and not one.each and not one.adds]
    return bool(made) and len(whole) == len(made) and all(_is_new(one.value, function) for one in made)


def _assigned_anywhere(path: str, file: File) -> list[ast.expr]:
    assigned = [node for node in below(file.program.tree) if isinstance(node, ast.Assign)]
    return [node.value for node in assigned if any(path_of(target) == path for target in node.targets)]


def _is_shared(name: str, file: File) -> bool:
    """global latent: whoever says so may make it anew."""
    told = [node for node in below(file.program.tree) if isinstance(node, ast.Global | ast.Nonlocal)]
    return (file.says("global ") or file.says("nonlocal ")) and any(name in node.names for node in told)


def _is_new(value: ast.expr, function: Reading) -> bool:
    """torch.zeros(3).to(device), x.detach().clone()"""
    if not isinstance(value, ast.Call) or makes_leaf(value):
        return False
    func, path = value.func, path_of(value.func)
    dotted = function.scope.dotted(path) if path is not None else ""
    if dotted.startswith("torch."):
        told = any(keyword.arg == "requires_grad" or keyword.arg is None for keyword in value.keywords)
        return dotted.rpartition(".")[2] in _MADE and dotted.count(".") == 1 and not told
    if isinstance(func, ast.Attribute):
        return func.attr == "detach" or (func.attr in SAME and _is_new(func.value, function))
    return False


def _is_used(path: str, function: Reading, optimizer: ast.Call) -> bool:
    """Whether something is computed of it, in this function or in the methods beside it."""
    cls = function.scope.owner if path.startswith("self.") else None
    methods = cls.functions.values() if cls is not None else ()
    parts = [part for node in (function.node, *(one.node for one in methods)) for part in below(node)]
    uses = [part for part in parts if isinstance(part, ast.Name | ast.Attribute) and path_of(part) == path]
    asked = {id(part.value) for part in parts if isinstance(part, ast.Attribute) and part.attr in CUTS}  # dummy.device
    told = [part.value for part in parts if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call)]
    handed = {id(one) for call in told for given in _given(call) for one in below(given)}
    used = [one for one in uses if isinstance(one.ctx, ast.Load) and not holds(optimizer, one)]
    # Who is handed it on a line of its own may ask a gradient of it: toggle_grad(latent, True).
    return any(id(one) not in asked for one in used) and not any(id(one) in handed - asked for one in used)


def _given(call: ast.Call) -> list[ast.expr]:
    """What is handed over, itself or in a list; not loss(latent).backward(), and nothing that is computed of it."""
    given = [*call.args, *(named.value for named in call.keywords)]
    return [one for one in given if isinstance(one, ast.Name | ast.Attribute | ast.List | ast.Tuple)]
