"""Answers that tell nothing apart: `scheduler is None`, once whatever hung on it is over.

A fact remembers how tests were answered on its path (tests.py). Where both answers of a question go with the very same
states, the question may as well be asked anew: nothing is lost, and the facts are half as many. And where a fact that
knows an answer has a twin that does not, all that it may come to, its twin comes to as well.
"""

from collections import Counter

from zerograd.core.facts import Assumptions, Doubts, Fact, Facts
from zerograd.core.machine import State
from zerograd.source.counting.tests import is_place


def without_indifferent(facts: Facts) -> Facts:
    """The facts without the answers that make no difference. Places in windows are kept: a loop turns them itself."""
    counts = Counter(known for fact in facts for known in fact.assumed)
    for key, answer in counts:
        if answer and counts[key, True] == counts[key, False] and not is_place(key):
            yes, no = _forgetting(facts, key, True), _forgetting(facts, key, False)
            if set(yes.values()) == set(no.values()):
                facts = frozenset((facts - yes.keys() - no.keys()) | set(yes.values()))
    return _without_covered(facts)


def _without_covered(facts: Facts) -> Facts:
    """The facts without those that a twin covers."""
    twins: dict[tuple[State, Doubts], list[Assumptions]] = {}
    for state, doubts, assumed in facts:
        twins.setdefault((state, doubts), []).append(assumed)
    return frozenset(
        fact for fact in facts if not any(_covers(twin, fact.assumed) for twin in twins[fact.state, fact.doubts])
    )


def _covers(fewer: Assumptions, more: Assumptions) -> bool:
    return fewer < more and not any(is_place(key) for key, _ in more - fewer)


def _forgetting(facts: Facts, key: str, answer: bool) -> dict[Fact, Fact]:
    """The facts on whose path a question was answered so, and what they are without that."""
    known = frozenset({(key, answer)})
    return {fact: fact._replace(assumed=fact.assumed - known) for fact in facts if known <= fact.assumed}
