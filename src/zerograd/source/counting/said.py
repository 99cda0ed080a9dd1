"""Answers that stand in a call itself: train(net, clear=False).

What a test was answered by on some path is a setting, and may be another one tomorrow: what its other arm would have
done stays in doubt. What somebody wrote into the call is no setting, and what it skips is not done.
"""

from zerograd.core.facts import Assumptions
from zerograd.source.counting.tests import Test, decide
from zerograd.source.names.literals import SAID


def is_said(test: Test | None, assumed: Assumptions) -> bool:
    """Whether a test is answered by what stands in the calls that led here, and by nothing else."""
    known = [(key[len(SAID) :], answer) for key, answer in assumed if key.startswith(SAID)]
    return bool(known) and decide(test, frozenset(known)) is not None


def forgetting(assumed: Assumptions, keys: frozenset[str]) -> Assumptions:
    """What is still known when these questions may have other answers."""
    return frozenset([known for known in assumed if known[0].removeprefix(SAID) not in keys])
