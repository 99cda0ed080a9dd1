"""A folder of numbered checkpoints: each whole or not there.

[Note: whole or not there] A checkpoint is written under another name, every file is brought to the disk, and only then
it is renamed; one that is no longer wanted is renamed before it is deleted. So whatever is called by a number was once
complete, however and whenever the process ended. Whether it still is, the checksums say.
"""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from zerograd.engine.checkpoint import refusals

MANIFEST = "manifest.json"
_NUMBER = re.compile(r"\d{8}")
_UNFINISHED, _UNWANTED = ".partial", ".old"


class Folder:
    def __init__(self, path: str | os.PathLike[str], *, keep: int) -> None:
        self.path, self._keep = Path(path), keep

    def names(self) -> list[str]:
        """Oldest first."""
        if not self.path.is_dir():
            return []
        return sorted(entry.name for entry in self.path.iterdir() if _NUMBER.fullmatch(entry.name) and entry.is_dir())

    def begin(self) -> Path:
        """An empty folder for the next one."""
        self.path.mkdir(parents=True, exist_ok=True)
        for leftover in self.path.iterdir():
            if leftover.suffix in (_UNFINISHED, _UNWANTED):
                shutil.rmtree(leftover)
        number = int(self.names()[-1]) + 1 if self.names() else 1
        begun = self.path / f"{number:08d}{_UNFINISHED}"
        begun.mkdir()
        return begun

    def finish(self, begun: Path, sums: dict[str, list[Any]]) -> None:
        """All files are there. See [Note: whole or not there]."""
        text = json.dumps({"schema": 1, "files": sums}, indent=1, sort_keys=True)
        write(begun / MANIFEST, f"{_digest(text.encode())}\n{text}\n")
        _sync(begun)
        os.rename(begun, begun.with_suffix(""))
        _sync(self.path)
        for name in self.names()[: -self._keep]:
            unwanted = self.path / f"{name}{_UNWANTED}"
            os.rename(self.path / name, unwanted)
            shutil.rmtree(unwanted)


def write(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sums_of(folder: Path, *, part: int = 0, parts: int = 1) -> dict[str, list[Any]]:
    """Size and checksum of every file, or of every so-manieth one: ranks share the work."""
    files = sorted(file for file in folder.iterdir() if file.name != MANIFEST)[part::parts]
    return {file.name: _sum(file) for file in files}


def manifest(folder: Path) -> dict[str, list[Any]]:
    """What the files were when they were written. Refused if it is not what was written itself."""
    try:
        told, _, text = (folder / MANIFEST).read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError) as error:
        raise refusals.damaged(folder.name, f"{MANIFEST} cannot be read ({error})") from None
    if told != _digest(text.removesuffix("\n").encode()):
        raise refusals.damaged(folder.name, f"{MANIFEST} is not what was written")
    files: dict[str, list[Any]] = json.loads(text)["files"]
    return files


def damage(folder: Path, *, part: int = 0, parts: int = 1) -> str:
    """What is wrong with the files, or with this rank's part of them; nothing if they are whole."""
    for name, (size, told) in sorted(manifest(folder).items())[part::parts]:
        try:
            found = _sum(folder / name)
        except OSError as error:
            return f"{name} cannot be read ({error.strerror})"
        if found[0] != size:
            return f"{name} has {found[0]} bytes and was written with {size}"
        if found[1] != told:
            return f"{name} has other bytes than were written"
    return ""


def _sum(path: Path) -> list[Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return [file.tell(), digest.hexdigest()]


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _sync(folder: Path) -> None:
    """The names in it, too, are brought to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
