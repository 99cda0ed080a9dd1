"""A folder of numbered checkpoints: each whole or not there.

[Note: whole or not there] A checkpoint is written in a folder that no other saver has the name of; every file is
brought to the disk, and only then it is renamed to the next free number. One that is no longer wanted is renamed before
it is deleted. So whatever is called by a number was once complete and of one saver, however and whenever processes
ended, and however many save here. Whether it still is, the checksums say.

[Note: what is ours] The folder may hold other people's things. Deleted is only what carries a name that nobody gives by
hand, of that only files that a checkpoint is made of, and of work in progress only that of a process which is gone.
"""

import hashlib
import json
import os
import re
import secrets
import warnings
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from zerograd.engine.checkpoint import owner, refusals
from zerograd.errors import CheckpointError

MANIFEST = "manifest.json"
COMMON = "common.json"
_NUMBER = re.compile(r"\d{8,}")
_FILE = re.compile(r"manifest\.json|common\.json|rank\d+\.json|\.metadata(\.tmp)?|__\d+_\d+\.distcp")
_UNFINISHED = re.compile(r"\.zerograd-saving-(?P<owner>[0-9a-f]{16}-\d+-\w+)-[0-9a-f]{16}")
_UNWANTED = re.compile(r"\.zerograd-unwanted-[0-9a-f]{16}")


class Folder:
    def __init__(self, path: str | os.PathLike[str], *, keep: int) -> None:
        self.path, self._keep = Path(path), keep

    def names(self) -> list[str]:
        """Of what is, or has been, a checkpoint. Oldest first."""
        return [entry.name for entry in self._numbered() if entry.is_dir() and _looks_like_one(entry)]

    def begin(self) -> Path:
        """An empty folder for the next one."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._sweep()
        begun = self.path / f".zerograd-saving-{owner.this_process()}-{secrets.token_hex(8)}"
        begun.mkdir()
        return begun

    def finish(self, begun: Path, sums: dict[str, list[Any]]) -> Path:
        """All files are there. See [Note: whole or not there]."""
        text = json.dumps({"schema": 1, "files": sums}, indent=1, sort_keys=True)
        write(begun / MANIFEST, f"{_digest(text.encode())}\n{text}\n")
        _sync(begun)
        finished = self._numbered_as_next(begun)
        try:
            _sync(self.path)
        except OSError:  # nobody knows whether its name would outlive the machine
            self._drop(finished.name)
            raise
        for name in [name for name in self.names() if _is_ours(self.path / name)][: -self._keep]:
            self._drop(name)
        return finished

    def discard(self, begun: Path) -> None:
        """It will not be finished."""
        _delete(begun)

    def _numbered_as_next(self, begun: Path) -> Path:
        taken = self._numbered()
        for number in count(int(taken[-1].name) + 1 if taken else 1):
            finished = self.path / f"{number:08d}"
            try:
                os.rename(begun, finished)
            except OSError:
                if not finished.exists():
                    raise
            else:
                return finished  # else another saver was faster: a folder with something in it is not replaced
        raise AssertionError

    def _numbered(self) -> list[Path]:
        """Everything that is called by a number, whatever it is."""
        found = self.path.iterdir() if self.path.is_dir() else ()
        return sorted((one for one in found if _NUMBER.fullmatch(one.name)), key=lambda one: int(one.name))

    def _drop(self, name: str) -> None:
        unwanted = self.path / f".zerograd-unwanted-{secrets.token_hex(8)}"
        try:
            os.rename(self.path / name, unwanted)
        except FileNotFoundError:
            return  # another saver was faster
        except OSError as error:
            warnings.warn(f"zerograd: checkpoint {name} cannot be deleted ({error})", RuntimeWarning, stacklevel=2)
            return
        _delete(unwanted)

    def _sweep(self) -> None:
        """Delete what processes have left that are no more. See [Note: what is ours]."""
        for entry in self.path.iterdir():
            unfinished = _UNFINISHED.fullmatch(entry.name)
            abandoned = unfinished is not None and owner.is_gone(unfinished["owner"], entry)
            if abandoned or _UNWANTED.fullmatch(entry.name):
                _delete(entry)


def _looks_like_one(folder: Path) -> bool:
    """However damaged."""
    return any((folder / name).exists() for name in (MANIFEST, COMMON, ".metadata", "rank0.json"))


def _is_ours(folder: Path) -> bool:
    """Beyond doubt: nobody else's manifest begins with its own checksum."""
    try:
        manifest(folder)
    except CheckpointError:
        return False
    return True


def _delete(folder: Path) -> None:
    """The files of a checkpoint, and the folder, if nothing else is in it."""
    with suppress(OSError):  # what cannot be deleted is in nobody's way
        for file in folder.iterdir():
            if _FILE.fullmatch(file.name):
                file.unlink(missing_ok=True)
        folder.rmdir()


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
