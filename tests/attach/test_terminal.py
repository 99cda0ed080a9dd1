"""The law of the last row: a program that prints as programs print leaves the same lines with it and without it."""

from hypothesis import given
from hypothesis import strategies as st

from attach.screens import Terminal
from zerograd.attach.terminal import drawn, given_back, taken

ROWS, COLUMNS = 6, 20
PRINTS = st.one_of(
    st.text("abc ", min_size=1, max_size=12),  # not finished
    st.sampled_from(
        [
            "\r\n",
            "a line\r\n",
            "wider than the terminal is\r\n",
            "\r 10%|#         |",  # a progress bar
            "\r100%|##########|\r\n",
            "\r\x1b[K",
            "\r\ninner bar\r\x1b[A",  # bars below bars
            "\x1b[31mred\x1b[0m",
            "a\tb\b",
        ]
    ),
)
PROGRAMS = st.tuples(*[st.lists(PRINTS, max_size=10) for _ in range(3)])


@given(PROGRAMS, st.sampled_from([0, 1, 2]), st.sampled_from([1, 3]))
def test_the_program_prints_as_if_alone(program: tuple[list[str], ...], shift: int, ours: int) -> None:
    before, during, after = program
    if ours > 1:  # several rows are taken before the program begins
        before, during = [], [*before, *during]
    alone, watched = Terminal(ROWS, COLUMNS), Terminal(ROWS, COLUMNS)
    for terminal in (alone, watched):
        terminal.feed("$ zerograd run it\r\n")
    for chunk in (*before, *during, *after):
        alone.feed(chunk)
    for chunk in before:
        watched.feed(chunk)
    watched.interrupt(taken(ROWS, ours))
    for number, chunk in enumerate(during):
        if (number + shift) % 3:
            watched.interrupt(drawn(ROWS, f"zerograd: {number}", ours))
        watched.feed(chunk)
    assert watched.screen.display[-ours].strip() in ("", *(f"zerograd: {number}" for number in range(len(during))))
    watched.interrupt(given_back(ROWS, ours))
    for chunk in after:
        watched.feed(chunk)
    assert watched.transcript() == alone.transcript()


def test_the_row_stands_still_while_the_program_scrolls() -> None:
    terminal = Terminal(ROWS, COLUMNS)
    terminal.feed("$\r\n" + taken(ROWS) + drawn(ROWS, "here"))
    for number in range(50):
        terminal.feed(f"{number}\r\n")
    assert terminal.screen.display[-1].strip() == "here"
    terminal.feed(given_back(ROWS))
    assert terminal.screen.display[-1].strip() == ""
    assert terminal.transcript() == ["$", *(str(number) for number in range(50))]
