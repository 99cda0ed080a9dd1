"""What processes leave on the desk: whole, at once, and still there when they are not."""

from pathlib import Path

from zerograd.attach.pulse import Pulse, Reading
from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Finding, Severity

FINDING = Finding("ZG001", "n", "is stale", Site("train.py", 3), Certainty.CERTAIN, Severity.ERROR)


def test_nothing_was_told(tmp_path: Path) -> None:
    Pulse(str(tmp_path))  # a process that has not trained
    assert Reading.of(str(tmp_path)) == Reading(processes=0, steps=0, missed=0, backwards=0, findings=(), untold=())


def test_counts_and_findings(tmp_path: Path) -> None:
    pulse = Pulse(str(tmp_path))
    pulse.beat(3, 4)
    pulse.condemn(FINDING)
    pulse.condemn(FINDING)  # another rank, the same place
    reading = Reading.of(str(tmp_path))
    assert (reading.processes, reading.steps, reading.backwards) == (1, 3, 4)
    assert reading.findings == ("train.py:3:1: ZG001 is stale",)
    assert len(reading.untold) == 1
    pulse.beat(5, 6, told=True)
    assert Reading.of(str(tmp_path))._replace(findings=()) == Reading(1, 5, 0, 6, (), ())


def test_a_launcher_that_is_gone_fails_nobody(tmp_path: Path) -> None:
    pulse = Pulse(str(tmp_path / "gone"))
    pulse.beat(1, 1)
    pulse.condemn(FINDING)
