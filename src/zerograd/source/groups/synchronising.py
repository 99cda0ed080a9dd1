"""Accumulation on several ranks where every micro-batch averages its gradients (ZG501). Where `no_sync` is said, those
that should are asked for in silenced.py."""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.groups import silenced
from zerograd.source.lowering.guarded import guarded_windows
from zerograd.source.names.scopes import Role
from zerograd.source.text.nodes import holds
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading

# Each of these decides itself when ranks talk.
_DECIDES = ("no_sync", "require_backward_grad_sync", "accelerat", "deepspeed", "fabric", "set_requires_gradient_sync")


def detect(function: Reading) -> Iterator[Finding]:
    if function.file.says("no_sync"):
        yield from silenced.detect(function)
    elif function.file.says("DistributedDataParallel") and not any(map(function.file.says, _DECIDES)):
        yield from _every(function)


def _every(function: Reading) -> Iterator[Finding]:
    """A model under DistributedDataParallel whose every micro-batch is averaged over the ranks."""
    for window in guarded_windows(function.block):
        if window.loop.node is None or not window.guard.accumulates or window.stepped_outside:
            continue
        called = [path_of(call.func) or "" for call in function.of(ast.Call) if holds(window.loop.node, call)]
        certain = any(_is_distributed(path, function) for path in called)
        for act in window.deposits[:1]:
            unless = "nothing shows that the model which is called here is the one under DistributedDataParallel"
            size = window.guard.size
            yield note(REGISTRY["ZG501"], act.site, certain=certain, unless=unless, deposit=act.what, size=size)


def _is_distributed(path: str, function: Reading) -> bool:
    binding = function.scope.lookup(path)
    return binding is not None and binding.role is Role.TORCH and binding.made_by.endswith("DistributedDataParallel")
