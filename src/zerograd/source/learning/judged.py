"""What an actor's loss is to climb: the value that a critic gives to the actor's own action. Cut from its graph, only
the entropy is left to be learned from."""

import ast
from collections.abc import Iterator

from zerograd.source.graphs.addends import Sum, Term, words_of
from zerograd.source.text.nodes import below
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import is_factor
from zerograd.source.values.definitions import definitions_of
from zerograd.source.values.reading import Reading

_ACTOR = pattern(r"actor|policy|(^|_)pi(_|$)")
_VALUE = pattern(r"(^|_)(min_?)?(q|qf)\d?(_|$)|(^|_)q_?val|critic")
_FEW = 12  # names that are followed


def is_judgement(term: Term, whole: Sum, function: Reading) -> bool:
    """actor_loss = (alpha * log_prob - q.detach()).mean(), where q = critic(state, action) of the actor's own action.
    Of what is read from a buffer a value has nothing to tell the actor."""
    words = {word.rpartition(".")[2].lower() for word in words_of(term)}
    named = any(_ACTOR.search(name.lower()) for name in whole.names)
    if not named or not any(map(_VALUE.search, words)) or any(map(is_factor, words)):
        return False
    acted = [name for name in _handed(term.node, function) if _is_acted(name, function)]
    return bool(acted)


def _handed(node: ast.expr, function: Reading) -> Iterator[str]:
    """The names that are handed to whoever made a value, beside another argument."""
    every, pending, seen = definitions_of(function).every, [node], set[str]()
    for value in pending:  # it grows on the way
        parts = below(value)
        calls = [part for part in parts if isinstance(part, ast.Call) and _VALUE.search(_maker(part))]
        yield from (path for call in calls if len(call.args) > 1 for one in call.args if (path := path_of(one)))
        names = {path for part in parts if (path := path_of(part)) is not None} - seen
        seen |= names
        pending += [one.value for name in names for one in every(name)] if len(seen) < _FEW else []


def _maker(call: ast.Call) -> str:
    return (path_of(call.func) or "").rpartition(".")[2].lower()


def _is_acted(name: str, function: Reading) -> bool:
    """action, log_prob = self.actor.sample(state), with its graph"""
    made = definitions_of(function).every(name)
    calls = [one.value for one in made if isinstance(one.value, ast.Call)]
    paths = [(path_of(call.func) or "").lower() for call in calls]
    acts = [any(_ACTOR.search(part) and "target" not in part for part in path.split(".")) for path in paths]
    return bool(calls) and len(calls) == len(made) and all(acts) and not any(map(function.without_grad, calls))
