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
    inside: set[tuple[str, bool]] = {*call.literals, *_shared(call, assumed)}
    for key, answer in assumed:
        for parameter, path in call.arguments:
            if path in key and mentions(key, path) and not is_place(key):
                inside.add((_renamed(key, path, parameter), answer))
    for key, test in call.places:
        told = decide(test, assumed)
        inside |= {(key, told)} if told is not None else set()
    return frozenset(inside)


def behind(call: Call, before: Assumptions, inside: Assumptions) -> Assumptions:
    """What a caller knows behind a call, where the function that it calls knows `inside` at its end."""
    return before | returned(call, inside)


def returned(call: Call, assumed: Assumptions) -> Assumptions:
    """What a function has learned about its arguments, in the words of its caller."""
    if not assumed:
        return assumed
    told = {key for key, _ in call.places}
    learned = [known for known in _shared(call, assumed) if known[0] not in told]
    for key, answer in assumed:
        for parameter, path in call.arguments:
            if parameter in key and parameter != "self" and mentions(key, parameter) and not is_place(key):
                learned.append((_renamed(key, parameter, path), answer))
    return frozenset(learned)


def _shared(call: Call, assumed: Assumptions) -> list[tuple[str, bool]]:
    """Of what is assumed, that by which both mean the same: what their object keeps, and what a function sees of the
    one around it."""
    inner = call.function.scope
    if inner.is_inside(call.caller):
        free = [known for known in assumed if not is_place(known[0])]
        return [known for known in free if not any(map(inner.owns, _ROOT.findall(known[0])))]
    return [known for known in assumed if known[0].startswith("self.")] if call.shares_self else []


@lru_cache(maxsize=1024)  # a pattern for each: compiling it is most of the work
def _renamed(key: str, path: str, name: str) -> str:
    return re.sub(rf"(?<![\w.]){re.escape(path)}(?!\w)", name, key)
