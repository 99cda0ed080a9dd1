"""Which row a qualified name has: its own, or that of the longest prefix."""

from functools import lru_cache

from zerograd.source.effects import frameworks, python, torch
from zerograd.source.effects.rows import Row

_FUNCTIONS = {**python.FUNCTIONS, **frameworks.FUNCTIONS, **torch.FUNCTIONS}
_PREFIXES = {**python.PREFIXES, **frameworks.PREFIXES, **torch.PREFIXES}


@lru_cache(maxsize=4096)
def row_of(name: str) -> Row | None:
    """What calling this name does; None if no table knows it."""
    found = _FUNCTIONS.get(name)
    while found is None and name:
        found = _PREFIXES.get(name)
        name = name.rpartition(".")[0]
    return found


@lru_cache(maxsize=1024)
def is_module_base(name: str) -> bool:
    """Whether a class from outside is a network: what it makes has parameters."""
    return any(name == base or name.startswith(base + ".") for base in torch.MODULE_BASES)
