"""Optimizers that nobody else can clear: made by a class for itself, and cleared by nothing in its file.

Whoever calls a method that deposits and steps may have cleared before. But hardly an optimizer that the class makes for
itself: that is done inside, or forgotten.
"""

import re

from zerograd.source.opaque import is_familiar
from zerograd.source.scopes import Role, Scope

_CLEARED = re.compile(r"([A-Za-z_][\w.]*(?:\[[^\]\n]*\])?)\.zero_grad\b")
_BY_HAND = re.compile(r"grad\s*=\s*None|grad(?:\.data)?\.zero_|(?:zero|reset|clear|clean)_?(?:all_)?grad")


def is_private(slot: str, cls: Scope | None, text: str) -> bool:
    if cls is None or not slot.startswith("self.") or not all(map(is_familiar, cls.lineage())):
        return False
    binding = next((one.bindings[slot] for one in cls.lineage() if slot in one.bindings), None)
    if binding is None or binding.role is not Role.OPTIMIZER or not binding.made_by.startswith("torch.optim."):
        return False
    cleared = _CLEARED.findall(text)
    return len(_BY_HAND.findall(text)) == len(cleared) and all(_is_other(path, slot, cls) for path in cleared)


def _is_other(path: str, slot: str, cls: Scope) -> bool:
    """Whether a path is another optimizer that the class makes."""
    binding = next((one.bindings[path] for one in cls.lineage() if path in one.bindings), None)
    return path != slot and binding is not None and binding.role is Role.OPTIMIZER
