"""One edit makes a text out of another, whatever they are."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.server.actions import difference
from zerograd.source.fixes.places import Places, apply

TEXTS = st.text(st.sampled_from("ab\n\u00e9\U0001f40d"), max_size=12)


@given(TEXTS, TEXTS)
def test_the_difference_makes_the_other(old: str, new: str) -> None:
    change = difference(old, new)
    assert old[: change.start] + change.text + old[change.end :] == new
    assert apply(old, [Places(old).edit(change)]) == new
