"""`advance` is total; the lift distributes over union and lets only what it must be told through."""

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from zerograd.core.events import Event, Kind
from zerograd.core.facts import ALL_DOUBTS, Fact, Facts, doubt, follow, join, lift, lift_weak, slim
from zerograd.core.judgement import judge
from zerograd.core.machine import HOLLOW, Content, Mark, Scale, State, advance
from zerograd.rules import REGISTRY

MARKS = [frozenset(some) for n in range(len(Mark) + 1) for some in combinations(Mark, n)]
STATES = [State(content, scale, marks) for content, scale, marks in product(Content, Scale, MARKS)]
EVENTS = [Event(kind, "opt", scaled=scaled) for kind, scaled in product(Kind, (False, True))]
facts = st.frozensets(
    st.builds(Fact, st.sampled_from(STATES), st.frozensets(st.sampled_from(sorted(ALL_DOUBTS, key=str))))
)
events = st.sampled_from(EVENTS)


def test_advance_is_total() -> None:
    reached = {advance(state, event) for state, event in product(STATES, EVENTS)}
    assert reached <= set(STATES)


def test_only_deposits_fill_and_only_clears_empty() -> None:
    for state, event in product(STATES, EVENTS):
        was, now = state.content in HOLLOW, advance(state, event).content in HOLLOW
        if was and not now:
            assert event.kind in (Kind.DEPOSIT, Kind.SPILL)
        if now and not was:
            assert event.kind is Kind.CLEAR


@given(facts, facts, events)
def test_the_lift_distributes_over_union(some: Facts, others: Facts, event: Event) -> None:
    assert lift(some | others, event) == join(lift(some, event), lift(others, event))
    assert lift_weak(some | others, event) == join(lift_weak(some, event), lift_weak(others, event))


@given(facts, events)
def test_a_lone_fact_follows_advance(some: Facts, event: Event) -> None:
    for fact in some:
        (after,) = lift(frozenset({fact}), event)
        assert after.state == advance(fact.state, event)


@given(facts, events)
def test_fewer_doubts_never_say_less(some: Facts, event: Event) -> None:
    """Why subsumption loses nothing: following an event keeps the order of doubts."""
    for fact in some:
        bolder = Fact(fact.state)
        assert follow(bolder, event).doubts <= follow(fact, event).doubts
        certain = {v.law.code for v in judge(frozenset({fact}), event, REGISTRY.values()) if v.certain}
        assert certain <= {v.law.code for v in judge(frozenset({bolder}), event, REGISTRY.values()) if v.certain}


@given(facts, events)
def test_slimming_changes_no_verdict(some: Facts, event: Event) -> None:
    assert list(judge(slim(some), event, REGISTRY.values())) == list(judge(some, event, REGISTRY.values()))


@given(facts, events, events)
def test_nothing_certain_is_said_on_a_weak_event(some: Facts, unclear: Event, event: Event) -> None:
    assert not any(verdict.certain for verdict in judge(some, event, REGISTRY.values(), weak=True))
    hit = frozenset(Fact(advance(fact.state, unclear), ALL_DOUBTS) for fact in some)
    assert not any(verdict.certain for verdict in judge(hit, event, REGISTRY.values()))


@given(facts, st.frozensets(st.sampled_from(sorted(ALL_DOUBTS, key=str))))
def test_doubting_keeps_every_state(some: Facts, kinds: frozenset[Kind]) -> None:
    assert {fact.state for fact in doubt(some, kinds)} == {fact.state for fact in some}
