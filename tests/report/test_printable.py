"""Text from a trace cannot hide, reverse or overflow what stands around it."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.report.printable import printable


@given(st.text(max_size=2000))
def test_short_and_without_controls(text: str) -> None:
    told = printable(text, longest=60)
    assert len(told.replace("\\u", "")) <= 60 * 6
    assert not set(told) & set(map(chr, [*range(32), 127, 0x2028, 0x2029, 0x202E, 0x2066, 0xFEFF]))
    told.encode()


def test_what_it_looks_like() -> None:
    assert printable("a\u202eb") == "a\\u202eb"
    assert printable("x" * 10, longest=6) == "xxxx...xx"
