"""What a person reads, to the letter."""

from textwrap import dedent

from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Severity
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
        train.py:9:9: ZG001 optimizer.step() uses gradients left over from the previous step
          6 |     loss.backward()    adds to gradients that optimizer.step() on line 9 has already used
          9 |     optimizer.step()  # again
          fix: call optimizer.zero_grad() right after optimizer.step()""")


def test_on_a_narrow_terminal_words_stay_whole() -> None:
    (finding,) = check_text(TEXT, "train.py")
    narrow = full(finding, lambda path: TEXT.splitlines(), Paint(on=False, width=60))
    assert narrow == dedent("""\
        train.py:9:9: ZG001 optimizer.step() uses gradients left
            over from the previous step
          6 |     loss.backward()    adds to gradients that
            |                        optimizer.step() on line 9 has
            |                        already used
          9 |     optimizer.step()  # again
          fix: call optimizer.zero_grad() right after
               optimizer.step()""")
    assert max(map(len, narrow.splitlines())) <= 60


def test_beside_a_finding_stand_few_lines_and_nothing_twice() -> None:
    (finding,) = check_text(TEXT, "train.py")
    (other,) = finding.related
    more = [other._replace(site=other.site._replace(line=line)) for line in (7, 8)]
    elsewhere = other._replace(site=Site("model.py", 1), message="clears them")
    told = full(finding._replace(related=(other, *more, elsewhere)), lambda path: TEXT.splitlines(), PLAIN)
    assert told.count("has already used") == 1
    assert "model.py:1 | import torch" in told
    assert len(told.splitlines()) == 5


def test_what_is_not_certain_or_a_note_says_so() -> None:
    (finding,) = check_text(TEXT, "train.py")
    assert concise(finding._replace(certainty=Certainty.POSSIBLE), PLAIN).endswith(" (possible)")
    assert concise(finding._replace(severity=Severity.NOTE), PLAIN).endswith(" (note)")


def test_without_source_the_places_are_told() -> None:
    (finding,) = check_text(TEXT, "train.py")
    assert "  6 |     adds to gradients" in full(finding, lambda path: None, PLAIN)


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
