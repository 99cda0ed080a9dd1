"""What a call is made on, and with: read off its syntax alone."""

import ast

from zerograd.source.text.paths import path_of


def picked(call: ast.Call) -> str:
    """optimizer.step("decoder"): of a container, the one of that name."""
    name = call.args[0].value if len(call.args) == 1 and isinstance(call.args[0], ast.Constant) else None
    return f"[{name!r}]" if isinstance(name, str) else ""


def clipped(call: ast.Call) -> str | None:
    """The module whose parameters are clipped, if it is one."""
    match call.args:
        case [ast.Call(func=ast.Attribute(value=value, attr="parameters")), *_]:
            return path_of(value)
    return None


def is_gradient(func: ast.expr) -> bool:
    """`p.grad.zero_`, `p.grad.data.zero_`."""
    value = func.value if isinstance(func, ast.Attribute) else func
    value = value.value if isinstance(value, ast.Attribute) and value.attr == "data" else value
    return isinstance(value, ast.Attribute) and value.attr == "grad"


def is_a_part(clear: ast.AST | None) -> bool:
    """unwrap(model).generator.zero_grad(): one module of those that the model has."""
    on = clear.func.value if isinstance(clear, ast.Call) and isinstance(clear.func, ast.Attribute) else None
    return isinstance(on, ast.Attribute)
