"""What a person reads, to the letter."""

from textwrap import dedent

from zerograd.report.colour import Paint, wants_colour
from zerograd.report.text import concise, full
from zerograd.source.check import check_text

TEXT = """\
import torch

def train(model, optimizer, loader, loss_fn):
    for x, y in loader:
\tloss = loss_fn(model(x), y)
\tloss.backward()
\tprint(loss)
\tprint(loss)
\toptimizer.step()  # again
""".replace("\t", "        ")
PLAIN = Paint(on=False)


def test_a_full_finding() -> None:
    (finding,) = check_text(TEXT, "train.py")
    assert full(finding, lambda path: TEXT.splitlines(), PLAIN) == dedent("""\
        train.py:9:9: ZG001 optimizer.step() consumes stale gradients: loss.backward() on line 6 adds to what was \
already consumed by optimizer.step() one iteration earlier
            |
          6 |         loss.backward()    <- the gradient is deposited here
          . |
          8 |         print(loss)
          9 |         optimizer.step()  # again
            |         ^^^^^^^^^^^^^^^^
            |
          = cure: call optimizer.zero_grad() once for every step(), before the next backward()""")


def test_without_source_there_is_no_excerpt() -> None:
    (finding,) = check_text(TEXT, "train.py")
    assert full(finding, lambda path: None, PLAIN).count("\n") == 1


def test_colours_say_nothing_new() -> None:
    (finding,) = check_text(TEXT, "train.py")
    painted = concise(finding, Paint(on=True))
    assert "\x1b[31;1mZG001\x1b[0m" in painted
    import re

    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == concise(finding, PLAIN)


class _Stream:
    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_when_to_colour() -> None:
    terminal, pipe = _Stream(True), _Stream(False)
    assert wants_colour("auto", terminal, {})
    assert not wants_colour("auto", pipe, {})
    assert not wants_colour("auto", terminal, {"NO_COLOR": "1"})
    assert wants_colour("auto", terminal, {"NO_COLOR": ""})
    assert wants_colour("auto", pipe, {"FORCE_COLOR": "1"})
    assert not wants_colour("auto", terminal, {"TERM": "dumb"})
    assert wants_colour("always", pipe, {"NO_COLOR": "1"})
    assert not wants_colour("never", terminal, {"FORCE_COLOR": "1"})
