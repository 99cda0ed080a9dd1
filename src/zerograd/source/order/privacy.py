"""Optimizers that only their own class can have cleared.

A method that steps and never clears may be called by someone who clears in between; so nothing is certain of it. But if
the class made the optimizer itself, nothing in its file clears it, and no file beside it that knows the class clears
anything or names the optimizer, there is nobody left. Another method that clears it for a step of its own leaves it as
used as it found it:

    def warm_up(self, x): self.optimizer.zero_grad(); self.loss(x).backward(); self.optimizer.step()
    def train(self, x): self.loss(x).backward(); self.optimizer.step()
"""

import ast
import os
import re

from zerograd.core.events import Kind
from zerograd.source.lowering.skeleton import Act, Block, Blur, Call, blocks_of, walk
from zerograd.source.names.opaque import is_familiar
from zerograd.source.names.scopes import Binding, Role, Scope
from zerograd.source.text.nodes import below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File

_SLOT = pattern(r"self\.(\w+)")


class Privacy:
    """What is private in one file."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._known: dict[tuple[str, Scope], bool] = {}
        self.asked = file.asked

    def of(self, slot: str, scope: Scope | None) -> bool:
        """Whether nobody but its class can clear this optimizer, as a method of that class names it."""
        cls = scope.owner if scope is not None else None
        name = _SLOT.fullmatch(slot)
        if cls is None or name is None:
            return False
        if (slot, cls) not in self._known:
            self._known[slot, cls] = self._is_made_here(slot, cls) and not self._may_be_cleared(slot, cls)
        return self._known[slot, cls]

    def _is_made_here(self, slot: str, cls: Scope) -> bool:
        binding = _binding(slot, cls)
        made = binding is not None and binding.made_by.startswith("torch.optim.")
        return made and all(map(is_familiar, cls.lineage()))

    def _may_be_cleared(self, slot: str, cls: Scope) -> bool:
        if self._file.reads_gradients:
            return True
        for node in below(self._file.program.tree):
            clears = isinstance(node, ast.Attribute) and node.attr == "zero_grad"
            if clears and self._is_ours(node, slot, cls) and not self._is_used_up(node, slot, cls):
                return True
        return self._beside(slot)

    def _is_used_up(self, clear: ast.Attribute, slot: str, cls: Scope) -> bool:
        """Whether a method of the class clears, deposits and steps, one behind the other, and calls nobody who may do
        something in between."""
        if path_of(clear.value) != slot:
            return False
        program = self._file.program
        around = [one for one in program.roots.functions if holds(one.node, clear)]
        method = around[0] if len(around) == 1 and around[0].scope.owner is cls else None
        block = program.body_of(method) if method is not None else ()
        parts = list(walk(block))
        if any(isinstance(one, Blur) or (isinstance(one, Call) and program.body_of(one.function)) for one in parts):
            return False
        clears = [one for one in parts if isinstance(one, Act) and one.kind is Kind.CLEAR and one.slot == slot]
        lines = {one.site.line for one in clears}
        return clear.end_lineno in lines and all(_comes_to_a_step(block, one) for one in clears)

    def _is_ours(self, clear: ast.Attribute, slot: str, cls: Scope) -> bool:
        """Whether what is cleared is this optimizer, or may be: through the module, in a loop over several. A class
        that has nothing to do with ours clears its own."""
        path = path_of(clear.value)
        owners = [one.scope.owner for one in self._file.program.roots.functions if holds(one.node, clear)]
        home = owners[-1] if owners else None
        if home is None or home in cls.lineage() or cls in home.lineage():
            return path is None or path == slot or _binding(path, cls) is None
        return path is None or _binding(path, home) is None

    def _beside(self, slot: str) -> bool:
        """Whether a file that knows this one clears something, or names the optimizer."""
        stem = os.path.splitext(os.path.basename(self._file.path))[0]
        knows = re.compile(rf"\b{re.escape(stem)}\b")
        does = re.compile(rf"zero_grad|\.grad\b|\.{slot[5:]}\b")
        texts = self._file.beside
        return texts is None or any(stem in text and knows.search(text) and does.search(text) for text in texts)


def _comes_to_a_step(block: Block, clear: Act) -> bool:
    """Whether a deposit and a step of the same optimizer stand behind a clear, in the same block."""
    if clear not in block:
        return any(_comes_to_a_step(inner, clear) for node in block for inner in blocks_of(node))
    behind = [one for one in block[block.index(clear) + 1 :] if isinstance(one, Act)]
    kinds = [one.kind for one in behind if one.kind is Kind.DEPOSIT or one.slot == clear.slot]
    return Kind.DEPOSIT in kinds and Kind.CONSUME in kinds[kinds.index(Kind.DEPOSIT) :] and Kind.CLEAR not in kinds


def _binding(path: str, cls: Scope) -> Binding | None:
    """The optimizer that the class, or one that it derives from, has made under this name."""
    known = next((one.bindings[path] for one in cls.lineage() if path in one.bindings), None)
    return known if known is not None and known.role is Role.OPTIMIZER else None
