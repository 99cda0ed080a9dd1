"""What was not audited is counted, with the reason, and never called accounted for."""

from zerograd.trace.coverage import Coverage, together


def test_all_steps_were_judged() -> None:
    coverage = Coverage.of(1, {})
    assert (coverage.whole, coverage.share, coverage.why) == (True, "1 step", "")


def test_some_were_not() -> None:
    coverage = Coverage.of(2000, {"inside a backward": 1, "fed by a closure": 1200})
    assert not coverage.whole
    assert coverage.share == "799 of 2,000 steps"
    assert coverage.why == "1,201 not audited: 1,200 fed by a closure, 1 inside a backward"
    assert Coverage.of(5, {"fed by a closure": 3}).why == "3 not audited: fed by a closure"


def test_several_processes() -> None:
    both = together([Coverage.of(4, {"inside a backward": 1}), Coverage.of(4, {"inside a backward": 2})])
    assert (both.share, both.missed) == ("5 of 8 steps", 3)
