"""Known findings: given back whole, and only while everything they hang on is as it was."""

import os
import time
from pathlib import Path

import pytest

import zerograd
from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Finding, Related, Severity
from zerograd.source.files.cache import Cache, _fingerprint

FINDING = Finding(
    code="ZG001",
    name="stale-accumulation",
    message="m",
    site=Site("train.py", 3, 5, 4, 6),
    certainty=Certainty.POSSIBLE,
    severity=Severity.NOTE,
    related=(Related(Site("other.py", 1), "r"),),
    cure="c",
    times=2,
)
OLD = time.time() - 31 * 24 * 60 * 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def fresh(folder: Path, *, version: str = "1", codes: list[str] | None = None) -> Cache:
    """As another run would open it: what the last one looked at is forgotten."""
    return Cache(str(folder), version=version, codes=codes)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name not in (".gitignore", "CACHEDIR.TAG"))


def test_a_finding_comes_back_whole(folder: Path) -> None:
    fresh(folder).put("train.py", "text", [FINDING], [])
    assert fresh(folder).get("train.py", "text") == [FINDING]


def test_everything_it_hangs_on(folder: Path) -> None:
    fresh(folder).put("train.py", "text", [FINDING], [])
    assert fresh(folder).get("train.py", "another text") is None
    assert fresh(folder).get("another.py", "text") is None
    assert fresh(folder, version="2").get("train.py", "text") is None
    assert fresh(folder, codes=["ZG001"]).get("train.py", "text") is None


def test_the_code_that_finds_is_part_of_it() -> None:
    """What was found by yesterday's rules must not be told by today's."""
    read = {os.path.relpath(word, os.path.dirname(zerograd.__file__)) for word in _fingerprint().split()[::3]}
    assert {"core/facts.py", "rules/telling.py", "source/check.py", "source/execute/execution.py"} <= read


def test_what_was_imported_has_changed(folder: Path) -> None:
    Path("there.py").write_text("a")
    fresh(folder).put("train.py", "text", [FINDING], ["there.py", "not_there.py"])
    assert fresh(folder).get("train.py", "text") == [FINDING]
    Path("there.py").write_text("b")
    assert fresh(folder).get("train.py", "text") is None
    Path("there.py").write_text("a")
    Path("not_there.py").write_text("")
    assert fresh(folder).get("train.py", "text") is None
    Path("not_there.py").unlink()
    Path("there.py").unlink()
    assert fresh(folder).get("train.py", "text") is None


@pytest.mark.parametrize("damage", [b"", b"\xff\x00", b"0\n{}", b"[" * 100_000])
def test_a_damaged_entry_is_not_believed(folder: Path, damage: bytes) -> None:
    fresh(folder).put("train.py", "text", [FINDING], [])
    (entry,) = entries(folder)
    entry.write_bytes(damage)
    assert fresh(folder).get("train.py", "text") is None
    whole = entry.with_name("whole")
    fresh(folder).put("train.py", "text", [FINDING], [])
    whole.write_bytes(entry.read_bytes())
    entry.write_bytes(whole.read_bytes().replace(b'"m"', b'"n"'))
    assert fresh(folder).get("train.py", "text") is None


def test_the_folder_says_what_it_is_and_keeps_out_of_git(folder: Path) -> None:
    fresh(folder).put("train.py", "text", [], [])
    assert (folder / ".gitignore").read_text() == "*\n"
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert len(entries(folder)) == 1  # nothing unfinished is left behind


def test_it_may_be_deleted_or_unwritable_at_any_moment(folder: Path) -> None:
    cache = fresh(folder)
    cache.put("train.py", "text", [], [])
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert cache.get("train.py", "text") is None
    folder.write_text("a file where the folder should be")
    cache.put("train.py", "text", [], [])
    cache.prune()
    assert cache.get("train.py", "text") is None


def test_what_is_of_no_use_goes(folder: Path) -> None:
    for text in ("used", "unused"):
        fresh(folder).put("train.py", text, [], [])
    for path in folder.iterdir():
        os.utime(path, (OLD, OLD))
    assert fresh(folder).get("train.py", "used") == []  # and is young again
    fresh(folder).prune()
    assert fresh(folder).get("train.py", "used") == []
    assert fresh(folder).get("train.py", "unused") is None
    assert (folder / ".gitignore").exists()


def test_it_looks_for_old_entries_once_a_day(folder: Path) -> None:
    fresh(folder).put("train.py", "text", [], [])
    (entry,) = entries(folder)
    os.utime(entry, (OLD, OLD))
    fresh(folder).prune()
    assert entry.exists()
