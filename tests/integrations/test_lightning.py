"""Lightning's loggers get what the audit finds; automatic optimization is judged like a loop by hand."""

from pathlib import Path

from integrations.scalars import logged, trained


def test_numbers_findings_and_the_report(tmp_path: Path) -> None:
    said = trained("lightning_run.py", tmp_path)
    right, wrong = logged(tmp_path / "right"), logged(tmp_path / "wrong")
    assert right.values["zerograd/findings"] == [0, 0, 0]
    assert right.values["zerograd/stale_share"] == [0, 0, 0]
    assert right.values["zerograd/micro_batches"] == [2, 2, 2]
    assert min(right.values["zerograd/gradient_norm"]) > 0
    assert wrong.values["zerograd/stale_share"][-1] > 0.5
    assert [text.split()[1] for text in wrong.texts] == ["ZG001"]
    assert said.count("every gradient accounted for") == 1
    assert "6 steps, 12 backwards, 2 slots audited" in said
    told = {name: [text.split()[1] for text in logged(tmp_path / name).texts] for name in ("forgetful", "erasing")}
    assert told == {"forgetful": ["ZG001"], "erasing": ["ZG002"]}, said
    assert "not audited" not in said
