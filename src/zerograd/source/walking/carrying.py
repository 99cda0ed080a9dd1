"""What is known of tests, carried into the functions that are called, and back."""

import re
from functools import lru_cache

from zerograd.core.facts import Assumptions
from zerograd.source.counting.tests import decide, is_place, mentions
from zerograd.source.lowering.skeleton import Call
from zerograd.source.text.patterns import pattern

_ROOT = pattern(r"(?<![\w.])[A-Za-z_]\w*")


def carried(call: Call, assumed: Assumptions) -> Assumptions:
    """What the caller knows, in the words of the function it calls; of its place in a window, what that is told."""
    inside: set[tuple[str, bool]] = {*call.literals}
    for key, answer in assumed:
        for parameter, path in call.arguments:
            if path in key and mentions(key, path) and not is_place(key):
                inside.add((_renamed(key, path, parameter), answer))
        if _is_shared(key, call):
            inside.add((key, answer))
    told = ((key, decide(test, assumed)) for key, test in call.places)
    return frozenset(inside).union((key, answer) for key, answer in told if answer is not None)


def returned(call: Call, assumed: Assumptions) -> Assumptions:
    """What a function has learned about its arguments, in the words of its caller."""
    if not assumed:
        return assumed
    learned = frozenset(
        (_renamed(key, parameter, path), answer)
        for key, answer in assumed
        for parameter, path in call.arguments
        if parameter in key and mentions(key, parameter) and not is_place(key) and parameter != "self"
    )
    told = {key for key, _ in call.places}
    return learned.union(one for one in assumed if _is_shared(one[0], call) and one[0] not in told)


def _is_shared(key: str, call: Call) -> bool:
    """Whether both mean the same by it: it asks for what their object keeps, or what a function sees of the one around
    it."""
    if call.shares_self and key.startswith("self."):
        return True
    inner = call.function.scope
    if not inner.is_inside(call.caller) or is_place(key):
        return False
    return not any(inner.owns(root) for root in _ROOT.findall(key))


@lru_cache(maxsize=1024)  # a pattern for each: compiling it is most of the work
def _renamed(key: str, path: str, name: str) -> str:
    return re.sub(rf"(?<![\w.]){re.escape(path)}(?!\w)", name, key)
