"""The table, read aloud: what each loop that people write does to a slot."""

import pytest

from zerograd.core.events import Event, Kind
from zerograd.core.machine import START, Content, Mark, Scale, advance

LIVES = {
    "a plain step": ("DEPOSIT CONSUME CLEAR", Content.EMPTY),
    "accumulation": ("DEPOSIT DEPOSIT DEPOSIT CONSUME", Content.SPENT),
    "never cleared": ("DEPOSIT CONSUME DEPOSIT", Content.MIXED),
    "cleared too early": ("DEPOSIT CLEAR", Content.LOST),
    "by-catch cleared away": ("DEPOSIT CLEAR DEPOSIT", Content.FRESH),
    "a warm-up": ("CLEAR CONSUME", Content.EMPTY),
    "a warm-up, then work": ("CONSUME DEPOSIT", Content.FRESH),
    "clearing nothing": ("CLEAR CLEAR", Content.NEW),
    "mixed, then cleared": ("DEPOSIT CONSUME DEPOSIT CLEAR", Content.LOST),
    "clipped and reduced": ("DEPOSIT REDUCE CLIP", Content.FRESH),
}


@pytest.mark.parametrize(("kinds", "content"), LIVES.values(), ids=LIVES)
def test_lives(kinds: str, content: Content) -> None:
    state = START
    for kind in kinds.split():
        state = advance(state, Event(Kind[kind]))
    assert state.content is content
    assert state.scale is Scale.PLAIN


def test_marks_fade_with_the_next_deposit() -> None:
    clipped = advance(advance(START, Event(Kind.DEPOSIT)), Event(Kind.CLIP))
    assert clipped.marks == {Mark.CLIPPED}
    assert advance(clipped, Event(Kind.DEPOSIT)).marks == set()
    assert advance(clipped, Event(Kind.CONSUME)).marks == {Mark.STEPPED}
    assert advance(START, Event(Kind.CLIP)).marks == {Mark.CLIPPED, Mark.BLIND}


def test_the_scale_follows_the_scaler() -> None:
    state = advance(START, Event(Kind.DEPOSIT, scaled=True))
    assert state.scale is Scale.SCALED
    assert advance(state, Event(Kind.CONSUME)).scale is Scale.SCALED
    assert advance(state, Event(Kind.CONSUME, scaled=True)).scale is Scale.PLAIN
    unscaled = advance(state, Event(Kind.UNSCALE))
    assert unscaled.scale is Scale.UNSCALED
    assert advance(unscaled, Event(Kind.CLEAR)).scale is Scale.PLAIN
