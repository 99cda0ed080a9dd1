"""How a path answered the tests that are asked more than once: the answers that each fact carries.

[Note: weighty answers] An answer is remembered only if it decides over events at two places; else facts would multiply
with every branch of the program.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, cast

from zerograd.core.facts import NOWHERE, Assumptions, Fact, Facts, join, reassume, slim
from zerograd.source.heap.conditions import (
    FIRST,
    LAST,
    MIDDLE,
    Asked,
    At,
    Both,
    Known,
    Linear,
    Not,
    Place,
    Test,
    equated,
    places_of,
)

# Facts carry their answers as opaque pairs: here a question and its answer, or a window and the place in it.
Answers = frozenset[tuple[Any, Any]]
Keeps = Callable[[Any], bool]


def answers_of(fact: Fact) -> Answers:
    return cast(Answers, fact.assumed)


def answer(fact: Fact, question: Hashable) -> Any:
    """How this path answered, or None."""
    for asked, told in cast(Answers, fact.assumed):
        if asked == question:
            return told
    return None


def told(fact: Fact, question: Hashable, now: Hashable) -> Fact:
    """The same fact on a path with this answer in place of any other."""
    rest = [pair for pair in answers_of(fact) if pair[0] != question]
    return Fact(fact.state, fact.doubts, cast(Assumptions, frozenset([*rest, (question, now)])))


_MOST_PATHS = 40


def on_one_path(some: list[Answers], others: list[Answers]) -> list[Answers]:
    """What is answered on the paths that two sets of facts share: where no question is answered both ways."""
    found: list[Answers] = []
    for one in some:
        told = dict(one)
        for other in others:
            if all(told.get(asked, now) == now for asked, now in other):
                found.append(one | other)
    return list(dict.fromkeys(found))[:_MOST_PATHS]


def forgetting(drop: Callable[[Any], bool]) -> Callable[[Facts], Facts]:
    """What makes of facts the same facts without the answers to these questions.

    Many facts of many slots share their answers: each is looked at once.
    """
    dropped: dict[int, bool] = {}  # by the identity of a pair, which lives as long as some fact has it
    known: dict[Assumptions, Assumptions] = {}

    def without(assumed: Assumptions) -> Assumptions:
        later = known.get(assumed)
        if later is None:
            gone = []
            for pair in cast(Answers, assumed):
                is_dropped = dropped.get(id(pair))
                if is_dropped is None:
                    is_dropped = dropped[id(pair)] = drop(pair[0])
                if is_dropped:
                    gone.append(pair)
            later = known[assumed] = assumed.difference(cast(Assumptions, gone)) if gone else assumed
        return later

    return lambda facts: reassume(facts, without)


def with_answer(facts: Facts, question: Hashable, now: Hashable | None) -> Facts:
    """The same facts, all with this answer; with None, without any."""

    def renewed(assumed: Assumptions) -> Assumptions:
        rest = [pair for pair in cast(Answers, assumed) if pair[0] != question]
        return cast(Assumptions, frozenset(rest if now is None else [*rest, (question, now)]))

    return reassume(facts, renewed)


def chosen(facts: Facts, question: Hashable, one: Hashable) -> Facts:
    """The facts of the paths on which this one was chosen."""
    return slim([told(fact, question, one) for fact in facts if answer(fact, question) in (None, one)])


def placed(facts: Facts, place: Place, options: Iterable[str] | None) -> Facts:
    """The same facts with the counter at one of these places; with None, nobody knows where."""
    if options is None:
        return with_answer(facts, place, None)
    chosen = tuple(options)
    return slim([told(fact, place, one) for fact in facts for one in chosen])


def moved(facts: Facts, place: Place) -> Facts:
    """The same facts one iteration later."""
    out: list[Fact] = []
    for fact in facts:
        now = answer(fact, place)
        if now is None:
            out.append(fact)
        else:
            out.extend(told(fact, place, later) for later in following(place.of, now))
    return slim(out)


def following(of: Linear, now: str) -> tuple[str, ...]:
    """The places of a window that may come behind this one."""
    if now == LAST:
        return (FIRST,)
    if of == Linear(None, 2):
        return (LAST,)
    # A window whose length nobody knows may have two iterations.
    return (MIDDLE, LAST) if now == MIDDLE or of.base is not None else (MIDDLE,)


def assume(facts: Facts, test: Test, yes: bool, keeps: Keeps) -> Facts:
    """The facts of the paths on which the test is answered so."""
    if isinstance(test, Known):
        return facts if test.answer is yes else NOWHERE
    if isinstance(test, Not):
        return assume(facts, test.test, not yes, keeps)
    if isinstance(test, Both):
        if yes:
            return assume(assume(facts, test.one, True, keeps), test.other, True, keeps)
        first = assume(facts, test.one, False, keeps)
        return join(first, assume(assume(facts, test.one, True, keeps), test.other, False, keeps))
    if isinstance(test, At):
        return _assume_place(facts, test, yes, keeps)
    if not keeps(test):
        return facts  # most tests: nobody asks again
    equal = equated(test)
    out: list[Fact] = []
    for fact in facts:
        now = answer(fact, test)
        if now is None and equal is not None and _equals_another(fact, *equal):
            now = False
        if now is None:
            out.append(told(fact, test, yes))
        elif now is yes:
            out.append(fact)
    return slim(out)


def _assume_place(facts: Facts, test: At, yes: bool, keeps: Keeps) -> Facts:
    place = test.place
    if not keeps(place):
        return facts
    out: list[Fact] = []
    for fact in facts:
        if place.of.base is not None and is_single(fact, place.of):
            out += [fact] if yes else []
            continue
        now = answer(fact, place)
        if now is None:
            out += [told(fact, place, one) for one in places_of(place.of) if (one == test.want) is yes]
        elif (now == test.want) is yes:
            out.append(fact)
    return slim(out)


def is_single(fact: Fact, of: Linear) -> bool:
    """Whether it was answered on this path that a window has one iteration."""
    names: tuple[Hashable, ...] = (of, of.base) if of.offset == 0 else (of,)
    for asked, yes in answers_of(fact):
        if isinstance(asked, Asked) and len(asked.of) == 2:
            one, other = asked.of
            if asked.what == "<" and one == ("k", 1) and other in names and yes is False:
                return True
            if asked.what == "==" and ("k", 1) in asked.of and (one in names or other in names) and yes is True:
                return True
    return False


def _equals_another(fact: Fact, value: Hashable, constant: Hashable) -> bool:
    """Whether the value was found equal to another constant."""
    for asked, yes in answers_of(fact):
        if yes is True and isinstance(asked, Asked):
            equal = equated(asked)
            if equal is not None and equal[0] == value and equal[1] != constant:
                return True
    return False
