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
from itertools import islice

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.names.roles import dotted_as
from zerograd.source.names.scopes import Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File, Reading

_FEW = 4  # layers of one forward pass
_LAYERS = pattern(r"torch\.nn\.(Linear|Bilinear|Conv(Transpose)?[123]d|Embedding|RNN|LSTM|GRU|MultiheadAttention)")
_NAMED = ("nn.", "inear(", "Conv", "Embedding(", "RNN(", "LSTM(", "GRU(", "Attention(")
_MISSING = pattern(r"None|hasattr|not in ")
_MOVES = frozenset({"to", "cuda", "double", "float"})
_DICE = pattern(r"rand|noise|aug|perturb|fixed|frozen", re.IGNORECASE)  # what is meant to stay as it fell
_ASIDE = ("detach", "data", "shape", "size")  # nn.Conv2d(3, 8, 3)(x).shape
_MESSAGE = "{what} creates a new random layer in every forward()"
_CURE = "create the layer in __init__"


def detect(file: File) -> Iterator[Finding]:
    if not file.says("def forward(") or not file.says(".parameters()") or not file.says("backward("):
        return
    for function in file.program.roots.functions:
        node, cls = function.node, function.scope.owner
        text = within(file.text, node) if node.name == "forward" else ""
        if any(word in text for word in _NAMED) and _is_module(cls) and _learns(cls, file):
            yield from _made(Reading(function.node, (), function.scope, file))


def _is_module(cls: Scope | None) -> bool:
    return cls is not None and any(base == "torch.nn.Module" for one in cls.lineage() for base in one.bases)


def _learns(cls: Scope | None, file: File) -> bool:
    """Whether it makes layers where they belong as well: one that has no others may be random on purpose."""
    init = cls.functions.get("__init__") if cls is not None else None
    nodes = file.program.nodes(init.node).of(ast.Assign) if init is not None else []
    return any((path_of(one.targets[0]) or "").startswith("self.") and isinstance(one.value, ast.Call) for one in nodes)


def _made(forward: Reading) -> Iterator[Finding]:
    calls = forward.of(ast.Call)
    if any((path_of(call.func) or "").endswith("seed") for call in calls):
        return
    bound = [node for node in forward.of(ast.Assign) if len(node.targets) == 1 and _is_layer(node.value, forward)]
    used = (node for node in bound if _is_used(node, forward))  # asked of a few: each takes a look at all names
    found: list[ast.expr | ast.stmt] = [*islice(used, _FEW)]
    asked = {id(one.value) for one in forward.of(ast.Attribute) if one.attr in _ASIDE}
    found += [call.func for call in calls if _is_layer(call.func, forward) and id(call) not in asked]
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
    if path is None or _DICE.search(path) or (path.startswith("self.") and asked) or _MISSING.search(asked):
        return False  # if self.head is None: self.head = nn.Linear(...)
    parts = [one for one in forward.of(ast.Attribute) if path_of(one.value) == path]
    called = [call for call in forward.of(ast.Call) if path_of(call.func) == path]
    known = {id(one.value) for one in parts if one.attr in _MOVES} | {id(call.func) for call in called}
    names: list[ast.Name | ast.Attribute] = [*forward.of(ast.Name), *forward.of(ast.Attribute)]
    loads = [one for one in names if isinstance(one.ctx, ast.Load) and path_of(one) == path]
    return bool(called) and all(id(one) in known for one in loads)  # else it is kept: self.head = head
