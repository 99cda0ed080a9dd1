"""Modules that keep something from one call to the next: a state whose graph the next loss goes through again."""

import ast
import os
from functools import lru_cache

from zerograd.source import wording
from zerograd.source.nodes import below
from zerograd.source.paths import path_of
from zerograd.source.reading import File
from zerograd.source.scopes import Scope

_DEPTH = 20


@lru_cache(maxsize=2)  # asked of every call that a loss goes through
def may_carry(file: File) -> bool:
    """Whether a module that cannot be read may keep a state: the file speaks of such, and it or one beside it has an
    object keep one."""
    if wording.is_variational(file.text):
        return True
    if not wording.is_recurrent(file.text):
        return False
    if wording.carries(file.text) or not os.path.isfile(file.path):
        return True
    texts = file.beside
    return texts is None or any(map(wording.carries, texts))


def remembers(name: str, scope: Scope, depth: int = _DEPTH) -> bool:
    """Whether a module of this project keeps something from one call to the next, or has a part that may."""
    cls = scope.class_scope(name)
    if cls is None or not depth or any(not base.endswith("Module") for base in cls.bases):
        return True
    for method in cls.functions.values():
        for node in below(method.node):
            path = path_of(node) or ""
            if method.node.name != "__init__":
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and path.startswith("self."):
                    return True
            elif isinstance(node, ast.Call) and _may_remember(node, cls, depth):
                return True
    return False


def _may_remember(call: ast.Call, scope: Scope, depth: int) -> bool:
    """What a module is made of: torch's own layers forget, those of this project are read, others may remember."""
    path = path_of(call.func) or ""
    dotted = scope.dotted(path)
    makes = path.rpartition(".")[2][:1].isupper() and dotted.partition(".")[0] != "torch"
    return makes and remembers(dotted, scope, depth - 1)
