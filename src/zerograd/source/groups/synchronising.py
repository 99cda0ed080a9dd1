"""Accumulation on several ranks: which micro-batches average their gradients, and which should."""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.counters import read_guard
from zerograd.source.counting.ones import is_one
from zerograd.source.counting.origins import Origins
from zerograd.source.names.scopes import Role
from zerograd.source.text.nodes import below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.values.reading import Reading
from zerograd.source.walking.guarded import guarded_windows

# Each of these decides itself when ranks talk.
_DECIDES = ("no_sync", "require_backward_grad_sync", "accelerat", "deepspeed", "fabric", "set_requires_gradient_sync")


def detect(function: Reading) -> Iterator[Finding]:
    if function.file.says("no_sync"):
        yield from _skipped(function)
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


def _skipped(function: Reading) -> Iterator[Finding]:
    """`no_sync` under one guard and the step under another."""
    if not any(node.attr == "no_sync" for node in function.of(ast.Attribute)):
        return
    origins = Origins(function.nodes, is_one=lambda size: is_one(size, function.scope, function.nodes))
    windows = [window for window in guarded_windows(function.block) if window.guard.phase is not None]
    choices: list[ast.IfExp | ast.If] = [*function.of(ast.IfExp), *function.of(ast.If)]
    steps_elsewhere = not any(act.kind is Kind.CONSUME for act in function.acts)
    for node in choices:
        guard = read_guard(node.test, origins)
        if guard is None or guard.phase is None:
            continue
        quiet = _mentions_no_sync(node.body if isinstance(node, ast.IfExp) else node.body[0])
        loud = _mentions_no_sync(node.orelse) if isinstance(node, ast.IfExp) else False
        synced_at_guard = guard.negated if quiet else not guard.negated
        if quiet == loud or not synced_at_guard:
            continue
        apart = any(
            step.loop is guard.loop and step.size == guard.size and step.phase != guard.phase
            for step in (window.guard for window in windows)
        )
        # Ranks talk at the first micro-batch of a group, whoever steps: it can hardly be meant.
        if apart or (steps_elsewhere and guard.accumulates and guard.phase == 0):
            yield note(REGISTRY["ZG502"], function.site(node), certain=apart, test="the guard of no_sync")


def _mentions_no_sync(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == "no_sync" for part in below(node))
