"""Answers that tell nothing apart may be forgotten, and only those: nothing is certain on the strength of a guess."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.core.events import Event, Kind
from zerograd.core.facts import CLEAN, Fact, Facts, lift
from zerograd.core.findings import Certainty
from zerograd.source.check import check_text
from zerograd.source.counting.indifferent import without_indifferent
from zerograd.source.counting.tests import Atom, assume

QUESTIONS = ["amp", "clip", "log", "first@1%N"]
STATES = [next(iter(CLEAN)).state, *(fact.state for fact in lift(CLEAN, Event(Kind.DEPOSIT)))]
FACTS = st.frozensets(
    st.builds(
        lambda state, answers: Fact(state, assumed=frozenset(answers.items())),
        st.sampled_from(STATES),
        st.dictionaries(st.sampled_from(QUESTIONS), st.booleans()),
    )
)


def asked(facts: Facts, key: str) -> Facts:
    """The facts of both arms of `if key:`."""
    return frozenset(
        Fact(state, doubts, assume(Atom(key), answer, assumed))
        for state, doubts, assumed in facts
        for answer in (True, False)
        if (key, not answer) not in assumed
    )


@given(FACTS)
def test_asked_anew_they_are_the_same_facts(facts: Facts) -> None:
    again, before = without_indifferent(facts), facts
    for key in QUESTIONS:
        again, before = asked(again, key), asked(before, key)
    assert again == before
    assert len(without_indifferent(facts)) <= len(facts)


def test_what_tells_states_apart_is_kept() -> None:
    clean, deposited = STATES
    told = frozenset(
        {Fact(clean, assumed=frozenset({("amp", True)})), Fact(deposited, assumed=frozenset({("amp", False)}))}
    )
    assert without_indifferent(told) == told
    alike = frozenset(Fact(clean, assumed=frozenset({("log", answer)})) for answer in (True, False))
    assert without_indifferent(alike) == {Fact(clean)}
    placed = frozenset(Fact(clean, assumed=frozenset({("first@1%N", answer)})) for answer in (True, False))
    assert without_indifferent(placed) == placed


def test_more_questions_than_can_be_kept_accuse_nobody() -> None:
    """Precision, decided by a flag, goes with the same flag wherever it is asked; however many others are asked."""
    flags = "".join(
        f"        if cfg.flag{number}:\n            torch.nn.utils.clip_grad_norm_(p, {number})\n"
        for number in range(6)
    )
    text = f"""import torch

def train(cfg, model, loader, optimizer, scaler, p):
    for i, x in enumerate(loader):
        loss = model(x)
        if cfg.amp:
            scaler.scale(loss).backward()
            if (i + 1) % cfg.grad_accumulation == 0:
                scaler.unscale_(optimizer)
        else:
            loss.backward()
{flags}        if cfg.amp:
            if (i + 1) % cfg.grad_accumulation == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        else:
            if (i + 1) % cfg.grad_accumulation == 0:
                optimizer.step()
                optimizer.zero_grad()
"""
    assert not [one for one in check_text(text) if one.certainty is Certainty.CERTAIN and one.code == "ZG202"]
