"""The Hugging Face Trainer sends what the audit finds to its loggers, beside its own numbers."""

from pathlib import Path

from integrations.scalars import logged, trained


def test_numbers_findings_and_the_report(tmp_path: Path) -> None:
    said = trained("transformers_run.py", tmp_path)
    right, wrong = logged(tmp_path / "right"), logged(tmp_path / "wrong")
    assert right.files == wrong.files == 1  # nothing is logged when the logger is closed already
    assert right.values["train/zerograd/findings"] == [0, 0, 0]
    assert right.values["train/zerograd/stale_share"] == [0, 0, 0]
    assert right.values["train/zerograd/micro_batches"] == [2, 2, 2]
    assert min(right.values["train/zerograd/gradient_norm"]) > 0
    assert len(right.values["train/loss"]) == 3  # the trainer's own rows are as always
    assert wrong.values["train/zerograd/findings"][-1] == 1
    assert [text.split()[1] for text in wrong.texts] == ["ZG002"]
    assert said.count("every gradient accounted for") == 1
    assert "6 steps, 12 backwards, 16 slots audited" in said
