"""The optimizers that an assignment makes anew: that one, or those of a new object.

optimizer = Adam(model.parameters())
trainer = Trainer(model)        # and with it trainer.optimizer, which its __init__ makes
optimizer = getattr(self, f"optimizer_{i}")     # or one that is another each time
"""

import ast

from zerograd.core.events import Kind
from zerograd.source.lowering.calls import CallReader
from zerograd.source.lowering.skeleton import Blur, Create
from zerograd.source.names.roles import role_of
from zerograd.source.names.scopes import Role, Scope
from zerograd.source.text.nodes import Nodes, below, holds
from zerograd.source.text.paths import path_of

_DEPOSIT = frozenset({Kind.DEPOSIT})


def made_anew(target: ast.expr, call: ast.Call, scope: Scope, calls: CallReader) -> list[Create]:
    """Of those that a path has when what a call returns is bound to it, the ones that nobody has stepped yet."""
    paths = (path_of(one) for one in _unpacked(target, call, scope))
    return [one for path in paths if path for one in _made(path, call, scope, calls)]


def _made(path: str, call: ast.Call, scope: Scope, calls: CallReader) -> list[Create]:
    if _is_optimizer(path, call, scope, calls):
        return [Create(path)]
    made = scope.bindings.get(path)
    if made is None or made.cls is None:
        return []
    own = {one for cls in made.cls.lineage() for one in cls.optimizers if one.startswith("self.")}
    return [Create(path + one.removeprefix("self"), inside=True) for one in sorted(own)]


def _unpacked(target: ast.expr, call: ast.Call, scope: Scope) -> list[ast.expr]:
    """model and optimizer, of model, optimizer = build(args): what a function of the project returns may be new. What
    an object hands out, g_opt, d_opt = self.optimizers(), is not."""
    if not isinstance(target, ast.Tuple):
        return [target]
    path = path_of(call.func)
    return target.elts if path is not None and scope.function(path) is not None else []


def picked_out(path: str, value: ast.expr, nodes: Nodes, scope: Scope, calls: CallReader) -> list[Create | Blur]:
    """optimizer = getattr(self, f"optimizer_{i}"), optimizer = optimizers[i], in a loop that counts i: another one each
    time, which is not new, and may have been fed before."""
    match value:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.JoinedStr() as which]) | ast.Subscript(slice=which):
            asked = {part.id for part in below(which) if isinstance(part, ast.Name)}
        case _:
            return []
    loops = [loop for kind in (ast.For, ast.While) for loop in nodes.of(kind) if holds(loop, value)] if asked else []
    named = {path_of(part) for loop in loops if isinstance(loop, ast.For) for part in below(loop.target)}
    counted = {path_of(one.target) for one in nodes.of(ast.AugAssign) if any(holds(loop, one) for loop in loops)}
    return [Create(path), Blur(_DEPOSIT)] if asked & (named | counted) and calls.is_optimizer(path, scope) else []


def _is_optimizer(path: str, call: ast.Call, scope: Scope, calls: CallReader) -> bool:
    """An optimizer's name is bound anew: to a new optimizer, unless it wraps the old one."""
    home = scope.owner if path.startswith("self.") and scope.owner is not None else scope
    binding = role_of(call, scope) if path in home.optimizers else None
    if binding is not None and binding.role is Role.OPTIMIZER:
        return True
    if not calls.is_optimizer(path, scope) or calls.is_harmless(call, scope):
        return False  # optimizer_path = os.path.join(folder, "optimizer.pt")
    return not any(path_of(part) == path for part in below(call))
