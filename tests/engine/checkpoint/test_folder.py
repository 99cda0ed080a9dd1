"""Whole or not there, whoever else uses the folder; and nobody else's things are touched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zerograd import CheckpointError
from zerograd.engine.checkpoint import folder as store
from zerograd.engine.checkpoint.folder import Folder


def _save(folder: Folder, text: str = "x") -> Path:
    begun = folder.begin()
    store.write(begun / "common.json", text)
    return folder.finish(begun, store.sums_of(begun))


def test_two_savers_at_the_same_time(tmp_path: Path) -> None:
    """Neither deletes what the other has begun, and no number has two contents."""
    one, other = Folder(tmp_path, keep=9), Folder(tmp_path, keep=9)
    first, second = one.begin(), other.begin()
    store.write(first / "common.json", "one")
    store.write(second / "common.json", "other")
    third = one.begin()
    finished = [other.finish(second, store.sums_of(second)), one.finish(first, store.sums_of(first))]
    assert [path.name for path in finished] == ["00000001", "00000002"]
    assert [(path / "common.json").read_text() for path in finished] == ["other", "one"]
    assert [store.damage(path) for path in finished] == ["", ""]
    assert third.exists()


def test_a_number_that_is_taken_in_the_last_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, usual = Folder(tmp_path, keep=9), Folder._numbered
    _save(folder, "first")
    monkeypatch.setattr(Folder, "_numbered", lambda self: [])  # as it was a moment ago
    begun = folder.begin()
    store.write(begun / "common.json", "second")
    monkeypatch.setattr(Folder, "_numbered", lambda self: [] if begun.exists() else usual(self))
    assert folder.finish(begun, store.sums_of(begun)).name == "00000002"
    assert (tmp_path / "00000001" / "common.json").read_text() == "first"


def test_other_peoples_things(tmp_path: Path) -> None:
    names = ["best.old", "00000001.partial", "00000007.old", "00000009", "notes.partial", ".zerograd-saving-mine"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights.pt").write_text("precious")
    for name in ("config.old", "list.partial", "00000011", ".zerograd-unwanted-0123456789abcdef"):
        (tmp_path / name).write_text("precious")
    (tmp_path / "00000005").mkdir()
    (tmp_path / "00000005" / "manifest.json").write_text('{"shards": 3}')  # of some dataset
    folder = Folder(tmp_path, keep=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    saved = [_save(folder).name for _ in range(3)]
    assert saved == ["00000012", "00000013", "00000014"]
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "00000013").exists()


def test_a_copy_of_a_checkpoint_is_the_users(tmp_path: Path) -> None:
    folder = Folder(tmp_path, keep=1)
    os.rename(_save(folder), tmp_path / "best.old")
    (_save(folder) / "mine.txt").write_text("precious")
    _save(folder)
    _save(folder)
    assert store.damage(tmp_path / "best.old") == ""
    assert [path.read_text() for path in tmp_path.rglob("mine.txt")] == ["precious"]


LEAVES = """
import os, sys
from zerograd.engine.checkpoint.folder import Folder
begun = Folder(sys.argv[1], keep=1).begin()
(begun / "common.json").write_text("half")
print(begun.name, flush=True)
if sys.argv[2] == "killed": os.kill(os.getpid(), 9)
sys.stdin.read()
"""


def test_what_the_dead_have_left_is_swept_and_what_the_living_do_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEAVES, str(tmp_path)]
    dead = subprocess.run([*command, "killed"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip()
    with subprocess.Popen([*command, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as living:
        begun = living.stdout.readline().strip()
        assert (tmp_path / begun / "common.json").exists()
        _save(Folder(tmp_path, keep=1))
        assert not (tmp_path / dead).exists()
        assert (tmp_path / begun / "common.json").read_text() == "half"
        living.communicate()
    _save(Folder(tmp_path, keep=1))
    assert [path.name for path in tmp_path.iterdir()] == ["00000002"]


def test_a_manifest_that_is_not_ours(tmp_path: Path) -> None:
    path = _save(Folder(tmp_path, keep=1))
    (path / "manifest.json").write_text("{}")
    with pytest.raises(CheckpointError, match="is not what was written"):
        store.damage(path)
