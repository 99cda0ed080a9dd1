"""Findings in the names of the program."""

import pytest

from report.traces import STALE
from zerograd.core.events import Site
from zerograd.core.findings import Related
from zerograd.report.lane import Lane
from zerograd.report.phrasing import phrased, placed
from zerograd.rules import REGISTRY

OPT_D = Lane("SGD#0", 0, (), {}, called="self.opts['d']")


def test_a_leak_is_told_by_name_and_line() -> None:
    related = (Related(Site("gan.py", 21), "left here"), Related(Site("gan.py", 15), "the optimizer's own objective"))
    told = phrased(
        STALE._replace(
            message="SGD.step() consumes what backward() on line 21 left; 4 parameters (SGD.weight)",
            site=Site("gan.py", 16),
            cure=REGISTRY["ZG005"].remedy,
            related=related,
        ),
        OPT_D,
    )
    assert placed(told) == "self.opts['d'].step() at gan.py:16 consumes what backward() on line 21 left"
    assert told.message.endswith("(SGD.weight)")
    assert told.cure == (
        "clear self.opts['d'] right before its own backward() on line 15, or detach() what the other network made"
    )
    assert [one.message for one in told.related] == [
        "leaves gradients in self.opts['d'] too",
        "self.opts['d']'s own objective",
    ]


@pytest.mark.parametrize("code", sorted(REGISTRY))
def test_every_cure_stays_a_sentence(code: str) -> None:
    cure = phrased(STALE._replace(cure=REGISTRY[code].remedy, related=()), Lane("SGD#0", 0, (), {}, called="opt")).cure
    for article in ("a opt", "an opt ", "the opt ", "every opt "):
        assert article not in f"{cure} ".replace("an optimizer", "").replace("every optimizer", "")


def test_a_backward_is_told_with_its_loss() -> None:
    finding = STALE._replace(message="backward() on line 5 adds to x.backward() on line 6", cure="", related=())
    lines = {5: "    self.scale(g_loss).backward()", 6: "a.backward(); b.backward()"}
    assert phrased(finding, None, lambda site: lines[site.line]).message == finding.message  # whose is not told
    here = phrased(finding._replace(message="backward() keeps adding"), None, lambda site: "g.backward()")
    assert here.message == "g.backward() keeps adding"
    told = phrased(finding, None, lambda site: "    g_loss.backward(retain_graph=True)").message
    assert told == "g_loss.backward() on line 5 adds to x.backward() on line 6"


def test_without_a_name_only_lines_are_added() -> None:
    assert phrased(STALE, None).cure == "call optimizer.zero_grad() before the next backward() on line 5"
    assert phrased(STALE, None)._replace(cure=STALE.cure) == STALE


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        (Site("a.py", 3), "the last group is short (a.py:3)"),
        (Site("n.ipynb", 3, cell=2), "the last group is short (cell 2, line 3)"),
        (Site("", 0), "the last group is short"),
    ],
)
def test_the_place(site: Site, expected: str) -> None:
    assert placed(STALE._replace(message="the last group is short; 2 of 4", site=site)) == expected
