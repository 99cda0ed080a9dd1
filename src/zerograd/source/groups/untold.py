"""Accelerate's accumulate(), with an Accelerator that nobody told how many.

accelerator = Accelerator()                     # args.gradient_accumulation_steps is never handed over
with accelerator.accumulate(model):             # ZG106: it waits for nothing
    accelerator.backward(loss)
    optimizer.step()

accelerate 1.x optimizer.py: step() of a prepared optimizer asks `gradient_state.sync_gradients`, which accumulate()
sets when it is entered. DeepSpeed clears and steps by itself, and its own config tells it how many.
"""

import ast
import re
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.loops import accumulates
from zerograd.source.lowering.skeleton import Act
from zerograd.source.text.nodes import below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File, Reading

_SETTING = "gradient_accumulation_steps"
# Who may tell it after all: a plugin, the launcher's environment, or somebody who sets it afterwards.
_TOLD = pattern(
    r"deep_?speed|accumulation_plugin|GradientAccumulationPlugin|gradient_state|ACCELERATE_|megatron"
    r"|accelerator\.gradient_accumulation_steps\s*=|accelerate launch[^\n]*accumulation",
    re.IGNORECASE,
)


def detect(function: Reading) -> Iterator[Finding]:
    if not function.file.says(".accumulate("):
        return
    for block in function.of(ast.With):
        if any(accumulates(item.context_expr) for item in block.items):
            inside = [act for act in function.acts if act.node is not None and holds(block, act.node)]
            step = next((act for act in inside if act.kind is Kind.CONSUME), None)
            if step is not None and any(act.kind is Kind.DEPOSIT for act in inside):
                yield from _unaware(function, block, step)


def _unaware(function: Reading, block: ast.With, step: Act) -> Iterator[Finding]:
    file = function.file
    if not file.says("Accelerator(") or not file.says(_SETTING) or _TOLD.search(file.text) is not None:
        return
    if function.loop_around(block) is None or not _never_told(file) or not _offers(file):
        return
    why = f"{_SETTING} is set: the Accelerator does not get it"
    related = (Related(step.site, "runs after every micro-batch"),)
    yield note(REGISTRY["ZG106"], function.site(block), certain=True, step=step.what, why=why, related=related)


def _never_told(file: File) -> bool:
    """Whether every Accelerator of a file is made here, and of plain settings that say nothing of groups."""
    calls = [node for node in below(file.program.tree) if isinstance(node, ast.Call)]
    made = [call for call in calls if (path_of(call.func) or "").rpartition(".")[2] == "Accelerator"]
    named = [keyword.arg for call in made for keyword in call.keywords]
    return bool(made) and not any(call.args for call in made) and not {None, _SETTING} & set(named)


def _offers(file: File) -> bool:
    """Whether the setting is made in this file, as an argument of its own, a parameter or a field; or is read here."""
    for node in below(file.program.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[ast.Constant(value=str() as name), *_]):
                if name.lstrip("-").replace("-", "_") == _SETTING:
                    return True
            case ast.Attribute(value=owner, attr=name, ctx=ast.Load()) if name == _SETTING:
                if "accelerator" not in (path_of(owner) or "accelerator"):
                    return True
            case ast.arg(arg=name) | ast.AnnAssign(target=ast.Name(id=name)) if name == _SETTING:
                return True
    return False
