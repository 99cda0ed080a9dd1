"""TensorBoard reads what is written; without the package it is said what to install."""

import sys
from pathlib import Path

import pytest

from report.traces import stale
from zerograd.errors import MissingExtra
from zerograd.report.tensorboard import tensorboard
from zerograd.report.walk import processes


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of protobuf's and tensorboard's own
def test_scalars_and_text(tmp_path: Path) -> None:
    tensorboard(processes([stale(tmp_path / "run.jsonl", 3, rank=0)]), str(tmp_path / "runs"))
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == "rank_0-SGD_0"
    known = EventAccumulator(str(folder))
    known.Reload()
    assert "zerograd/stale_share" in known.Tags()["scalars"]
    shares = known.Scalars("zerograd/stale_share")
    assert [(one.step, round(one.value, 2)) for one in shares] == [(1, 0.0), (2, 0.5), (3, 0.67)]
    assert known.Tags()["tensors"] == ["zerograd/report/text_summary"]


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtra, match="pip install tensorboard"):
        tensorboard(processes([stale(tmp_path / "run.jsonl")]), str(tmp_path / "runs"))
