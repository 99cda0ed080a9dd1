"""A training_step() of Lightning's that computes a loss and returns nothing: Lightning skips every batch (ZG003).

def training_step(self, batch, batch_idx):
    loss = criterion(self(batch[0]), batch[1])
    self.log("loss", loss)

Silent where the loss may reach Lightning in another way: optimization by hand, a training_step_end(), a subclass or
another file that calls this one, a base class that cannot be read.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.names.scopes import Scope
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.automatic import is_known, is_training_step
from zerograd.source.values.reading import File, Reading

_BY_HAND = ("automatic_optimization", "manual_backward", ".backward(", "optimizer_step", "training_step_end")
_CALLED = pattern(r"\.training_step\(|training_step_end")
_LOSS = pattern(r"(^|_)loss(es)?(_|$)")


def detect(file: File) -> Iterator[Finding]:
    if not file.says("LightningModule") or not file.says("def training_step(") or any(map(file.says, _BY_HAND)):
        return
    for one in file.program.roots.functions:
        if one.node.name != "training_step" or one.node.decorator_list:
            continue
        function, cls = Reading(one.node, (), one.scope, file), one.scope.owner
        loss = _computed(function)
        if loss is not None and cls is not None and is_training_step(function) and _is_whole(cls, file):
            cure = f"return {path_of(loss.targets[0])}: without it Lightning skips the batch"
            yield note(REGISTRY["ZG003"], function.site(loss), certain=True, step="Lightning's step")._replace(
                cure=cure
            )


def _computed(function: Reading) -> ast.Assign | None:
    """The last loss of a function that hands nothing back."""
    if any(back.value is not None for back in function.of(ast.Return)) or function.of(ast.Yield):
        return None
    losses = [node for node in function.of(ast.Assign) if isinstance(node.value, ast.Call | ast.BinOp)]
    named = [node for node in losses if isinstance(node.targets[0], ast.Name) and _LOSS.search(node.targets[0].id)]
    runs = any((path_of(call.func) or "").startswith("self") for call in function.of(ast.Call))
    return named[-1] if named and runs else None


def _is_whole(cls: Scope, file: File) -> bool:
    """Whether Lightning trains a class by what is read here, and nobody else calls its training_step()."""
    texts = file.beside
    called = texts is None or any(map(_CALLED.search, (file.text, *texts)))
    return is_known(cls) and cls.method("configure_optimizers") is not None and not called
