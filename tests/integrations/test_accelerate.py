"""An Accelerate tracker audits the run, and its numbers go to every other tracker."""

from pathlib import Path

from integrations.scalars import logged, trained


def test_numbers_and_the_report(tmp_path: Path) -> None:
    said = trained("accelerate_run.py", tmp_path)
    right, wrong = logged(tmp_path / "right"), logged(tmp_path / "wrong")
    assert right.values["zerograd/stale_share"] == [0] * 6
    assert right.values["zerograd/micro_batches"] == [2] * 6
    assert len(right.values["loss"]) == 12
    assert wrong.values["zerograd/findings"][-1] == 1
    assert wrong.values["zerograd/stale_share"][-1] > 0.5
    assert said.count("every gradient accounted for") == 1
