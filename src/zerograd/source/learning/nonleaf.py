"""The gradient of what was computed, and is no leaf: autograd keeps none there, `.grad` is None for ever (ZG303).

W = torch.randn(784, 10, requires_grad=True) * 0.01      computed of a leaf that has no name any more
x = Variable(image, requires_grad=True).view(1, -1)      so is a view, a copy, and what was moved to a GPU by .cuda()
loss(x @ W).backward()
x = x + W.grad.sign()                                    None

Certain where every assignment that reaches the use computes the value of a leaf, with autograd looking on. Silent where
somebody says retain_grad(), and where the tensor may be a leaf: moved to a device that it may be on already, detached.
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.names.opaque import makes_something
from zerograd.source.order.unfilled import uses_of
from zerograd.source.order.updates import is_leaf
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.definitions import Definition, definitions_of
from zerograd.source.values.reading import Reading

_Place = tuple[tuple[int, int], tuple[int, int]]
_SETTINGS = ("grad", "requires_grad")
_FEW = 12  # uses of gradients that are looked at in one function
_CURE = "call {name}.retain_grad() before backward()"
# Methods of tensors that always compute another one.
_COMPUTES = frozenset(
    {"view", "reshape", "unsqueeze", "squeeze", "permute", "transpose", "t", "repeat", "expand", "clone"}
    | {"mul", "div", "add", "sub", "pow", "exp", "sigmoid", "tanh", "abs", "clamp", "sqrt", "softmax", "mean", "sum"}
)
_ELSE = pattern(r"suppress|raises")  # with pytest.raises(TypeError): x.grad + 1
_FUNCTIONS = _COMPUTES | {"cat", "stack", "relu", "normalize", "interpolate", "pad", "matmul", "mm"}
# Tensors that torch makes where nobody says otherwise: on the CPU.
_MAKERS = ("torch.randn", "torch.rand", "torch.zeros", "torch.ones", "torch.empty", "torch.full", "torch.from_numpy")


def detect(function: Reading) -> Iterator[Finding]:
    file = function.file
    if not (file.says("requires_grad") or file.says("Parameter(")):
        return
    if file.says("retain_grad(") or not function.having(Kind.DEPOSIT) or _names_inputs(function):
        return
    told: set[str] = set()
    body: list[ast.stmt] = getattr(function.node, "body", [])
    asking = [one for one in body if any(getattr(part, "attr", "") == "grad" for part in below(one))]
    uses = [(use, name) for one in asking for use, name in uses_of(one) if name.isidentifier()]
    for use, name in uses[:_FEW]:
        made = _computed(function, name, use) if name not in told and not _is_asked(function, name, use) else None
        if made is not None:
            told.add(name)
            why = f"{name} is not a leaf tensor"
            related = (Related(function.site(made), "computes it, so autograd keeps no .grad for it"),)
            names = {"what": f"{name}.grad", "why": why}
            found = note(REGISTRY["ZG303"], function.site(use), certain=True, related=related, **names)
            yield found._replace(cure=_CURE.format(name=name))


def _is_asked(function: Reading, name: str, use: ast.AST) -> bool:
    """if x.grad is None: return; try: ...; x.register_hook(keep); keep(x), which may retain it or make it a leaf."""
    asking: list[ast.If | ast.Assert | ast.While] = [*function.of(ast.If), *function.of(ast.Assert)]
    tests = [one.test for one in (*asking, *function.of(ast.While))]
    if any(f"{name}.grad" in written(test) for test in tests) or any(holds(one, use) for one in function.of(ast.Try)):
        return True
    blocks = [one for one in function.of(ast.With) if holds(one, use)]
    if any(_ELSE.search(written(item.context_expr)) for block in blocks for item in block.items):
        return True
    alone = [one.value for one in function.of(ast.Expr) if isinstance(one.value, ast.Call)]
    handed = any(path_of(given) == name and path_of(call.func) != "print" for call in alone for given in call.args)
    return handed or any(path_of(call.func) == f"{name}.register_hook" for call in alone)


def _names_inputs(function: Reading) -> bool:
    """loss.backward(inputs=[x]) deposits there, whatever it is."""
    calls = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    return any(keyword.arg == "inputs" for call in calls for keyword in call.keywords)


def _computed(function: Reading, name: str, use: ast.AST) -> ast.stmt | None:
    """Where the value was computed that a name surely has here."""
    reached = definitions_of(function).reaching(name, use)
    if reached is None or reached.item is not None:
        return None
    # W -= lr * W.grad changes what is there, and leaves it what it was.
    made = [one for one in (*reached.here, *reached.around) if not isinstance(one.node, ast.AugAssign)]
    if not made or _tells(function, name, behind=min(place(one.node) for one in made)):
        return None
    filled = next((one.node for one in reached.here if _is_filled(one, made, use, function)), None)
    if isinstance(filled, ast.Assign):
        return filled
    if not reached.certain or not all(_is_computed(one, function) for one in made):
        return None
    return made[-1].node if isinstance(made[-1].node, ast.Assign) else None


def _is_filled(one: Definition, made: list[Definition], use: ast.AST, function: Reading) -> bool:
    """x[i] = y + delta, and nothing else is x before the use: what was written into it has a graph, and so has x."""
    node = one.node
    if not one.adds or not isinstance(node, ast.Assign) or function.without_grad(node):
        return False
    if any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in below(node.targets[0])):
        return False  # batch["x"] = ...
    again = any(not other.adds and place(node) < place(other.node) < place(use) for other in made)
    loops = all(holds(loop, use) for loop in function.loops if holds(loop, node))
    sure = loops and function.arms(node) <= function.arms(use) and not again
    return sure and "detach" not in written(one.value) and _needs_gradient(one.value, function)


def _tells(function: Reading, name: str, *, behind: _Place) -> bool:
    """x.requires_grad = True, x.grad = ..., x.detach_(), behind what made it: it may be a leaf then."""
    stores = [node for node in function.of(ast.Attribute) if isinstance(node.ctx, ast.Store)]
    told: list[ast.AST] = [one for one in stores if path_of(one.value) == name and one.attr in _SETTINGS]
    told += [one for one in function.of(ast.Call) if path_of(one.func) in (f"{name}.requires_grad_", f"{name}.detach_")]
    return any(place(one) > behind for one in told)


def _is_computed(one: Definition, function: Reading) -> bool:
    plain = isinstance(one.node, ast.Assign) and not one.adds and not one.each and one.at is None
    if not plain or function.without_grad(one.node) or "detach" in written(one.value):
        return False
    return _has_graph(one.value, function)


def _has_graph(value: ast.expr, function: Reading) -> bool:
    """Whether an expression computes something of a leaf, and is none itself."""
    match value:
        case ast.BinOp(left=left, right=right):
            return _needs_gradient(left, function) or _needs_gradient(right, function)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _needs_gradient(operand, function)
        case ast.Call(func=ast.Attribute(value=inner, attr="cuda")):
            return _has_graph(inner, function) or (_needs_gradient(inner, function) and _is_on_cpu(inner, function))
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _COMPUTES and path_of(inner) != "torch":
            return _needs_gradient(inner, function)
        case ast.Call(func=ast.Attribute(value=inner, attr="to" | "float")):
            return _has_graph(inner, function)
        case ast.Call(func=func, args=[given, *_]):
            dotted = function.scope.dotted(path_of(func) or "")
            differs = dotted.startswith("torch.") and dotted.rpartition(".")[2] in _FUNCTIONS
            return differs and _needs_gradient(given, function)
    return False


def _needs_gradient(value: ast.expr, function: Reading) -> bool:
    """Whether it is a leaf that needs a gradient, by itself or by a name that was given one, or is made of one."""
    if is_leaf(value, function.scope) or _has_graph(value, function):
        return True
    if not isinstance(value, ast.Name):
        return False
    if _was_told(value, function):
        return True
    reached = definitions_of(function).reaching(value.id, value)
    if reached is None or not reached.certain or reached.item is not None or reached.around:
        return False
    made = [one for one in reached.here if place(one.node) < place(value)]
    return bool(made) and all(
        not one.adds and not one.each and one.at is None and is_leaf(one.value, function.scope) for one in made
    )


def _was_told(value: ast.Name, function: Reading) -> bool:
    """x.requires_grad_(), x.requires_grad = True, right before, and nothing else is x in between."""
    told: list[ast.AST] = []
    for node in function.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="requires_grad") as to], value=ast.Constant(value=True)):
                told += [node] if path_of(to.value) == value.id else []
    for one in function.of(ast.Expr):
        match one.value:
            case ast.Call(func=ast.Attribute(value=on, attr="requires_grad_"), args=[] | [ast.Constant(value=True)]):
                told += [one] if path_of(on) == value.id else []
    every = definitions_of(function).every(value.id)
    if any(isinstance(one.value, ast.Call) and _is_foreign(one.value, function) for one in every):
        return False
    made = [place(one.node) for one in every if not holds(one.node, value)]
    return any(
        place(one) < place(value)
        and function.arms(one) <= function.arms(value)
        and all(holds(loop, value) for loop in function.loops if holds(loop, one))
        and not any(place(one) < other < place(value) for other in made)
        for one in told
    )


def _is_foreign(call: ast.Call, function: Reading) -> bool:
    """Tensor([2.0]), of somebody's own autograd, which may keep every gradient."""
    path = path_of(call.func) or ""
    return makes_something(path) and not function.scope.dotted(path).startswith("torch.")


def _is_on_cpu(value: ast.expr, function: Reading) -> bool:
    """Whether torch made it, and nobody said where: what is on the GPU already stays what it is."""
    if isinstance(value, ast.Name):
        made = definitions_of(function).every(value.id)
        return len(made) == 1 and _is_on_cpu(made[0].value, function)
    text = written(value)
    around = [written(item) for one in function.of(ast.With) if holds(one, value) for item in one.items]
    if any("device" in one for one in around) or function.file.says("set_default_"):
        return False
    if "cuda" in text or "device" in text or ".to(" in text:
        return False
    dotted = [function.scope.dotted(path_of(part.func) or "") for part in below(value) if isinstance(part, ast.Call)]
    return all(path in _MAKERS or path in ("torch.nn.Parameter", "torch.autograd.Variable") for path in dotted)
