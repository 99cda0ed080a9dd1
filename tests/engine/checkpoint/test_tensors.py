"""Reading a checkpoint runs no code, whoever wrote it."""

import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from zerograd import CheckpointError
from zerograd.engine.checkpoint import tensors


class Evil:
    def __reduce__(self):
        return (print, ("code was run",))


@pytest.mark.parametrize("thing", [Evil(), {"a": Evil()}, torch.nn.Linear(1, 1), [1], b"x"])
def test_metadata_that_torch_did_not_write(tmp_path: Path, capsys: pytest.CaptureFixture[str], thing: object) -> None:
    (tmp_path / ".metadata").write_bytes(pickle.dumps(thing))
    with pytest.raises(CheckpointError, match="not what torch writes"):
        tensors.metadata_of(tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["load", "hub", "Size.__new__", "jit.load"])
def test_torchs_own_functions_are_no_data(tmp_path: Path, name: str) -> None:
    (tmp_path / ".metadata").write_bytes(b"ctorch\n" + name.encode() + b"\n.")
    with pytest.raises(CheckpointError, match="not what torch writes"):
        tensors.metadata_of(tmp_path)


def test_written_and_read(tmp_path: Path) -> None:
    of_every_kind = {
        f"a/{dtype}": torch.ones(3, 2).to(dtype)
        for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)
    }
    tensors.write(tmp_path, {**of_every_kind, "scalar": torch.tensor(1.5), "empty": torch.empty(0)}, None)
    stored = tensors.metadata_of(tmp_path)
    rooms = tensors.rooms(tmp_path, stored, dict.fromkeys([*of_every_kind, "scalar", "empty"]))
    tensors.read(tmp_path, stored, rooms, None)
    assert all(torch.equal(rooms[name], value) for name, value in of_every_kind.items())
    assert rooms["scalar"] == 1.5
    with pytest.raises(CheckpointError, match="it has no b"):
        tensors.rooms(tmp_path, stored, {"b": None})


@pytest.mark.parametrize(("free", "says"), [(100, "No space left on device"), (2**30, "unexpected pos 704 vs 598")])
def test_a_full_disk_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, says: str) -> None:
    """torch says where its file has ended, and not why."""

    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 704 vs 598")

    monkeypatch.setattr(tensors, "save", broken)
    monkeypatch.setattr(tensors.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    with pytest.raises((OSError, RuntimeError), match=says):
        tensors.write(tmp_path, {"weight": torch.zeros(3)}, None)
