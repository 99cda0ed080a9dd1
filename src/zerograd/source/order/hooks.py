"""Clips in a hook of Lightning's that runs before it goes backward, or behind its step (ZG302).

def training_step(self, batch, batch_idx):
    loss = self.loss(batch)
    torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
    return loss                 # now Lightning clears, goes backward, and steps

What is clipped there is cleared before anything new is deposited. The place for it is the Trainer's gradient_clip_val,
or a hook behind the backward. Silent where the module may go backward by itself, or where a base class cannot be read.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.lowering.clips import CLIPS, only_measures
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.paths import path_of, short
from zerograd.source.values.reading import File, Reading

_HOOKS = frozenset({"training_step", "training_step_end", "on_train_batch_start", "on_train_batch_end"})
_BY_HAND = ("automatic_optimization", "backward(", ".optimizers(", "zero_grad(")
_PLACE = "before Lightning goes backward: what {hook}() finds there is cleared first"
_CURE = "Trainer(gradient_clip_val=...), or clip in on_before_optimizer_step()"


def detect(file: File) -> Iterator[Finding]:
    if not file.says("LightningModule") or not file.says("clip_grad_") or not file.says("def configure_optimizers("):
        return
    if any(map(file.says, _BY_HAND)):
        return
    for one in file.program.roots.functions:
        if one.node.name in _HOOKS and one.scope.owner is not None and _is_automatic(one.scope.owner):
            yield from _clips(Reading(one.node, (), one.scope, file), one)


def _is_automatic(cls: Scope) -> bool:
    """Whether it is a module of Lightning's, all of whose text is in sight."""
    bases = [base for one in cls.lineage() for base in one.bases]
    return bool(bases) and all(base.rpartition(".")[2] == "LightningModule" for base in bases)


def _clips(function: Reading, hook: Function) -> Iterator[Finding]:
    for call in function.of(ast.Call):
        name = (path_of(call.func) or "").rpartition(".")[2]
        if name in CLIPS and name != "clip_gradients" and not only_measures(call) and not _is_switched_off(call):
            place, what = _PLACE.format(hook=hook.node.name), f"{short(call.func)}()"
            found = note(REGISTRY["ZG302"], function.site(call), certain=True, clip=what, place=place)
            yield found._replace(cure=_CURE)


def _is_switched_off(call: ast.Call) -> bool:
    """clip_grad_norm_(parameters, 1.0, clip_grad=False), of a function that measures as well."""
    told = [keyword.value for keyword in call.keywords if keyword.arg != "error_if_nonfinite"]
    return any(isinstance(value, ast.Constant) and value.value is False for value in told)
