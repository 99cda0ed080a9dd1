"""The words that every front end closes with."""

from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.core.tally import count, is_shown, tally

ERROR = Finding("ZG001", "n", "m", Site("a.py", 1), Certainty.CERTAIN, Severity.ERROR)
WARNING, NOTE = (ERROR._replace(severity=one) for one in (Severity.WARNING, Severity.NOTE))
POSSIBLE = ERROR._replace(certainty=Certainty.POSSIBLE)
SLIGHT = NOTE._replace(certainty=Certainty.POSSIBLE)


def test_each_kind_is_counted_and_what_is_hidden_names_its_option() -> None:
    found = [ERROR, WARNING, WARNING, NOTE, POSSIBLE, POSSIBLE, POSSIBLE]
    assert tally(found, possible=False, notes=False) == (
        "1 error, 2 warnings, 1 note (hidden: --notes), 3 possible (hidden: --possible)"
    )
    assert tally(found) == "1 error, 2 warnings, 1 note, 3 possible"
    assert tally([], possible=False, notes=False) == ""


def test_an_option_that_is_on_is_never_named() -> None:
    found = [NOTE, POSSIBLE, SLIGHT]
    assert tally(found, possible=True, notes=False) == "1 note (hidden: --notes), 2 possible (1 hidden: --notes)"
    assert tally(found, possible=False, notes=True) == "1 note, 2 possible (hidden: --possible)"
    assert tally([SLIGHT], possible=True, notes=False) == "1 possible (hidden: --notes)"
    assert tally([SLIGHT], possible=False, notes=False) == "1 possible (hidden: --possible --notes)"


def test_what_is_shown() -> None:
    assert all(is_shown(one, possible=False, notes=False) for one in (ERROR, WARNING))
    assert not any(is_shown(one, possible=False, notes=False) for one in (NOTE, POSSIBLE, SLIGHT))
    assert is_shown(SLIGHT, possible=True, notes=True)
    assert not is_shown(SLIGHT, possible=True, notes=False)


def test_counts_are_english() -> None:
    assert count(1, "entry", "entries") == "1 entry"
    assert count(1200, "file") == "1,200 files"
