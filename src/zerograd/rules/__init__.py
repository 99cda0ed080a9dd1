"""The registry. A file in this folder that defines RULE is a rule; there is no other list.

`REGISTRY` maps codes to rules in code order; `select` picks from it by code, prefix, name or ALL.
"""

import os
from collections.abc import Iterable, Mapping
from importlib import import_module

from zerograd.errors import UsageError, unknown
from zerograd.rules.rule import Rule


def _load() -> dict[str, Rule]:
    files = (file for file in os.listdir(os.path.dirname(__file__)) if file.endswith(".py") and file[0] != "_")
    modules = [import_module(f"{__name__}.{file[:-3]}") for file in files]
    rules = [module.RULE for module in modules if hasattr(module, "RULE")]
    return {rule.code: rule for rule in sorted(rules, key=lambda rule: rule.code)}


REGISTRY: Mapping[str, Rule] = _load()


def select(selectors: Iterable[str]) -> frozenset[str]:
    """The codes that `selectors` name: a code, a prefix of codes, a rule's name, or ALL."""
    chosen: set[str] = set()
    for selector in selectors:
        codes = {
            code
            for code, rule in REGISTRY.items()
            if selector == "ALL" or rule.name == selector or (selector[:2] == "ZG" and code.startswith(selector))
        }
        if not codes:
            known = [*REGISTRY, *(rule.name for rule in REGISTRY.values()), "ALL"]
            raise unknown("rule", selector, known, slug="unknown-rule")
        chosen |= codes
    return frozenset(chosen)


def words_name(word: str, *, native: bool) -> frozenset[str]:
    """The rules that a word in a comment names; none if it is a slip, or in a noqa another tool's."""
    word = word if native else word.upper()
    if not native and not word.startswith("ZG"):
        return frozenset()
    try:
        return select([word])
    except UsageError:
        return frozenset()
