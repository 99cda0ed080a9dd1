"""The end of a run, to the letter."""

from textwrap import dedent

from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.report.colour import Paint
from zerograd.report.summary import summary

PLAIN = Paint(on=False)
SURE = Finding("ZG001", "n", "is stale", Site("a.py", 2), Certainty.CERTAIN, Severity.ERROR, cure="clear it", times=3)
UNSURE = SURE._replace(code="ZG002", certainty=Certainty.POSSIBLE, times=1)
NOTE = SURE._replace(code="ZG401", severity=Severity.NOTE, times=1)


def test_nothing_found() -> None:
    assert "\x1b[1;33mzerograd\x1b[0m" in summary(
        [], "2 of 4 steps audited", complete=False, source=lambda path: None, paint=Paint(on=True)
    )
    told = summary([], "4 steps; every gradient accounted for", source=lambda path: None, paint=PLAIN)
    assert told == "zerograd: 4 steps; every gradient accounted for"


def test_findings_counts_and_the_next_command() -> None:
    lines = ["for x in y:", "    step()"]
    told = summary([SURE, UNSURE, NOTE], "1 error; 4 steps", source=lambda path: lines, paint=PLAIN, who="zerograd [1]")
    assert told == dedent("""\
        a.py:2:1: ZG001 is stale
          2 |     step()    3 times
          fix: clear it

        zerograd [1]: 1 error; 4 steps
        next: zerograd rule ZG001""")


def test_what_is_hidden_is_shown_on_request() -> None:
    told = summary([UNSURE, NOTE], "4 steps", source=lambda path: None, paint=PLAIN, possible=True, notes=True)
    assert "ZG002 is stale (possible)\n" in told
    assert "ZG401 is stale (note)\n" in told
