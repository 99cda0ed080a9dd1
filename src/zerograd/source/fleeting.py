"""Layers that are made in every forward pass: their parameters are new each time, and no optimizer holds them (ZG010).

def forward(self, x):
    x = self.conv(x).flatten(1)
    return nn.Linear(x.shape[1], 10)(x)        # random, now and for ever

Silent for what is made once, when it is missing; for layers whose weights are set or frozen, as a fixed filter's are;
and for those without a part to be learned, or whose part is as good as none when it is new: an activation, a norm.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.nodes import written
from zerograd.source.paths import path_of
from zerograd.source.reading import File, Reading
from zerograd.source.roles import dotted_as
from zerograd.source.scopes import Scope

_FEW = 4  # layers of one forward pass
_LAYERS = re.compile(r"torch\.nn\.(Linear|Bilinear|Conv(Transpose)?[123]d|Embedding|RNN|LSTM|GRU|MultiheadAttention)")
_MISSING = re.compile(r"None|hasattr|not in ")
_MOVES = frozenset({"to", "cuda", "double", "float"})
_MESSAGE = "{what} makes new parameters in every forward pass: no optimizer holds them, and they stay random"
_CURE = "make the layer in __init__"


def detect(file: File) -> Iterator[Finding]:
    if not file.says("def forward(") or not file.says(".parameters()") or not file.says("backward("):
        return
    for function in file.program.roots.functions:
        if function.node.name == "forward" and _is_module(function.scope.owner):
            yield from _made(Reading(function.node, (), function.scope, file))


def _is_module(cls: Scope | None) -> bool:
    return cls is not None and any(base == "torch.nn.Module" for one in cls.lineage() for base in one.bases)


def _made(forward: Reading) -> Iterator[Finding]:
    calls = forward.of(ast.Call)
    bound = [node for node in forward.of(ast.Assign) if len(node.targets) == 1 and _is_layer(node.value, forward)]
    found: list[ast.expr | ast.stmt] = [node for node in bound if _is_used(node, forward)]
    found += [call.func for call in calls if _is_layer(call.func, forward)]  # nn.Linear(8, 4)(x)
    for node in found[:_FEW]:
        if not forward.without_grad(node):
            site, rule = forward.site(node), REGISTRY["ZG010"]
            told = note(rule, site, certain=True, what="", model="self", optimizer="", made="")
            yield told._replace(message=_MESSAGE.format(what=written(node)), cure=_CURE)


def _is_layer(value: ast.expr, forward: Reading) -> bool:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    if not isinstance(value, ast.Call):
        return False
    return _LAYERS.fullmatch(dotted_as(path_of(value.func) or "", "nn", forward.scope)) is not None


def _is_used(node: ast.Assign, forward: Reading) -> bool:
    """Whether a layer is called, and nothing else is done with it but to move it."""
    path = path_of(node.targets[0])
    asked = " ".join(written(branch.test) for branch, _ in forward.arms(node))
    if path is None or (path.startswith("self.") and asked) or _MISSING.search(asked):
        return False  # if self.head is None: self.head = nn.Linear(...)
    parts = [one for one in forward.of(ast.Attribute) if path_of(one.value) == path]
    called = [call for call in forward.of(ast.Call) if path_of(call.func) == path]
    handed = [one for call in forward.of(ast.Call) for one in call.args if path_of(one) == path]
    kept = [one for one in forward.of(ast.Assign) if path_of(one.value) == path]  # self.head = head
    return bool(called) and not handed and not kept and all(one.attr in _MOVES for one in parts)
