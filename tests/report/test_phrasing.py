"""Findings in the names of the program."""

import pytest

from report.traces import STALE
from zerograd.core.events import Site
from zerograd.core.findings import Related
from zerograd.report.lane import Lane
from zerograd.report.phrasing import phrased, placed

OPT_D = Lane("SGD#0", 0, (), {}, called="self.opts['d']")


def test_an_optimizer_is_told_by_its_name() -> None:
    told = phrased(
        STALE._replace(
            message="SGD.step() also uses gradients that another loss left there",
            site=Site("gan.py", 16),
            cure="call SGD.zero_grad() right before its own backward()",
            related=(Related(Site("gan.py", 16), "4 parameters (SGD.weight)"),),
        ),
        OPT_D,
    )
    assert placed(told) == "self.opts['d'].step() at gan.py:16 also uses gradients that another loss left there"
    assert told.cure == "call self.opts['d'].zero_grad() right before its own backward()"
    assert [one.message for one in told.related] == ["4 parameters (SGD.weight)"]


def test_a_backward_is_told_with_its_loss() -> None:
    finding = STALE._replace(message="backward() on line 5 adds to x.backward() on line 6", cure="", related=())
    lines = {5: "    self.scale(g_loss).backward()", 6: "a.backward(); b.backward()"}
    assert phrased(finding, None, lambda site: lines[site.line]).message == finding.message  # whose is not told
    here = phrased(finding._replace(message="backward() keeps adding"), None, lambda site: "g.backward()")
    assert here.message == "g.backward() keeps adding"
    told = phrased(finding, None, lambda site: "    g_loss.backward(retain_graph=True)").message
    assert told == "g_loss.backward() on line 5 adds to x.backward() on line 6"


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
