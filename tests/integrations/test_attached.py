"""An attached audit: numbers for a logger, a report in the run's folder, and no trouble for the training."""

from pathlib import Path

import pytest
import torch

from zerograd.integrations.attached import AttachedAudit


def loop(audit: AttachedAudit, *, clears: bool = True) -> list[dict[str, float]]:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    told = []
    for _ in range(4):
        model(torch.ones(3, 2)).square().mean().backward()
        optimizer.step()
        if clears:
            optimizer.zero_grad()
        told.append(audit.numbers())
    return told


def test_each_step_in_numbers(tmp_path: Path) -> None:
    audit = AttachedAudit()
    assert audit.numbers() == {}
    audit.start(tmp_path)
    numbers = loop(audit)
    assert audit.numbers() == {}  # nothing since
    audit.stop()
    assert [set(one) for one in numbers] == [
        {f"zerograd/{name}" for name in ("stale_share", "micro_batches", "skips", "gradient_norm", "findings")}
    ] * 4
    assert all(one["zerograd/stale_share"] == 0 and one["zerograd/micro_batches"] == 1 for one in numbers)


def test_findings_are_told_once_and_the_report_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit = AttachedAudit(mode="lean")
    audit.start(tmp_path)
    numbers = loop(audit, clears=False)
    assert [finding.code for finding in audit.new_findings()] == ["ZG001"]
    assert audit.new_findings() == []
    audit.stop()
    assert numbers[-1]["zerograd/stale_share"] == 0.75
    assert numbers[-1]["zerograd/findings"] == 1
    assert '"code":"ZG001"' in (tmp_path / "zerograd.html").read_text()
    assert "report: " in capsys.readouterr().err


def test_a_second_run_in_the_folder_is_reported_alone(tmp_path: Path) -> None:
    for clears in (False, True):
        audit = AttachedAudit()
        audit.start(tmp_path)
        loop(audit, clears=clears)
        audit.stop()
    assert '"code":"' not in (tmp_path / "zerograd.html").read_text()


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    audit = AttachedAudit()
    audit.start(tmp_path / "file" / "run")
    assert len(loop(audit)) == 4
    audit.stop()
    assert "no trace in" in capsys.readouterr().err
