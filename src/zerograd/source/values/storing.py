"""Whether a function of this project may keep what it is given: then somebody may go through its graph later."""

import ast

from zerograd.source.lowering.program import Program
from zerograd.source.names.scopes import Function
from zerograd.source.text.paths import path_of
from zerograd.source.text.wording import CUTS, SAME

_DEEP = 3
_KNOWN = frozenset(
    {"torch", "torchvision", "print", "numpy", "math", "matplotlib", "wandb", "os", "PIL", "cv2"}
    | {"str", "int", "float", "len", "range", "min", "max", "round"}
)
_ASKS = SAME | CUTS | {"clamp", "clamp_", "format", "mean", "sum", "norm", "size", "join", "exists", "mkdir"}
_ASKS |= {"makedirs", "save_image"}


def stores(called: Function, program: Program, deep: int = _DEEP) -> bool:
    """Whether it puts something where it stays, or hands it on to who may: all that it calls must be known not to."""
    nodes = program.nodes(called.node)
    if nodes.of(ast.AugAssign) or bool(nodes.of(ast.Global)) or bool(nodes.of(ast.Nonlocal)):
        return True
    places: list[ast.Attribute | ast.Subscript] = [*nodes.of(ast.Attribute), *nodes.of(ast.Subscript)]
    if any(isinstance(node.ctx, ast.Store) for node in places):
        return True
    for call in nodes.of(ast.Call):
        path = path_of(call.func) or str(getattr(call.func, "attr", "?"))
        other = called.scope.function(path)
        if other is not None:
            if not deep or stores(other, program, deep - 1):
                return True
        elif called.scope.dotted(path).partition(".")[0] not in _KNOWN and path.rpartition(".")[2] not in _ASKS:
            return True
    return False
