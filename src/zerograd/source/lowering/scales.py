"""Whether a loss is multiplied by a loss scale, as far as the text shows it."""

import ast

from zerograd.core.events import Kind
from zerograd.source.counting.tests import Test, questions_in
from zerograd.source.lowering.skeleton import Act, Block, Blur, Forget, walk
from zerograd.source.names.roles import role_of
from zerograd.source.names.scopes import Role, Scope


def is_scaled(call: ast.Call, scope: Scope) -> bool:
    """scaler.scale(loss).backward(), or the same through a variable."""
    value = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    binding = role_of(value, scope)
    return binding is not None and binding.role is Role.SCALED_LOSS


def is_plain(loss: ast.expr | None, scope: Scope) -> bool:
    """Whether a loss is made here, and by nothing that may have scaled it."""
    match loss:
        case ast.Name(id=name):
            return name in scope.assigned and name not in scope.scaled and "scale" not in name
        case ast.BinOp(left=left, right=right):
            return all(isinstance(side, ast.Constant) or is_plain(side, scope) for side in (left, right))
        case ast.Call(func=ast.Attribute(value=value)):
            return is_plain(value, scope)
    return False


def deposits_scaled(block: Block) -> set[bool]:
    """Whether losses are deposited scaled or plain in a block, for a step that is taken elsewhere."""
    acts = [node for node in walk(block) if isinstance(node, Act)]
    steps = any(act.kind is Kind.CONSUME for act in acts)
    return set() if steps else {act.scaled for act in acts if act.kind is Kind.DEPOSIT}


def asking_first(body: Block, question: Test | None) -> Block:
    """if not self.unscaled: scaler.unscale_(optimizer); self.unscaled = True. What an object remembers from one call to
    the next is not followed: it may have been done."""
    if not any(isinstance(one, Act) and one.kind is Kind.UNSCALE for one in body):
        return body
    asked = {key for key in questions_in(question) if key.startswith("self.")}
    if not any(isinstance(one, Forget) and not asked.isdisjoint(one.keys) for one in body):
        return body
    return tuple(_doubted(one) if isinstance(one, Act) and one.kind is Kind.UNSCALE else one for one in body)


def _doubted(act: Act) -> Blur:
    return Blur(frozenset({Kind.UNSCALE}), act.slot, act.site, act.what)
