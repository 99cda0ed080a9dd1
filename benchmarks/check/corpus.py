"""Public code to measure on: real bugs, tricky correct loops, well-known repositories, laid out from git mirrors.

The facts are a folder with cases.jsonl and repos.json. The code is one git directory per repository, in a folder named
owner+name; it is unpacked into a temporary folder and never kept.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple


class Case(NamedTuple):
    """One bug, or one correct loop that looks suspicious (its kind starts with "ok:")."""

    repo: str
    commit: str
    path: str
    line: int
    kind: str
    also: tuple[str, ...]  # other kinds of bug that are true of the same file

    @property
    def is_correct(self) -> bool:
        return self.kind.startswith("ok:")


class Snapshot(NamedTuple):
    """One repository at one commit."""

    repo: str
    commit: str


def read_cases(facts: Path) -> list[Case]:
    rows = [json.loads(line) for line in (facts / "cases.jsonl").read_text().splitlines()]
    return [
        Case(row["repo"], row["commit"], row["path"], row["line"], row["kind"], tuple(row.get("also", ())))
        for row in rows
    ]


def read_repositories(facts: Path) -> list[Snapshot]:
    return [Snapshot(row["repo"], row["commit"]) for row in json.loads((facts / "repos.json").read_text())]


@contextmanager
def laid_out(mirrors: Path, snapshot: Snapshot, *, notebooks: bool = False) -> Iterator[Path | None]:
    """A folder with the Python files of a commit; None where the mirrors do not have the repository."""
    git = git_directory(mirrors / snapshot.repo.replace("/", "+"))
    if git is None:
        yield None
        return
    with TemporaryDirectory() as folder:
        _unpack(git, snapshot.commit, Path(folder), (b".py", b".ipynb") if notebooks else (b".py",))
        yield Path(folder)


def kept(mirrors: Path, snapshot: Snapshot, home: Path) -> Path | None:
    """The same, with its notebooks, in a folder that stays: unpacked once."""
    git = git_directory(mirrors / snapshot.repo.replace("/", "+"))
    folder = home / f"{snapshot.repo.replace('/', '+')}+{snapshot.commit[:10]}"
    if not folder.is_dir():
        if git is None:
            return None
        with TemporaryDirectory(dir=home) as part:
            _unpack(git, snapshot.commit, Path(part) / "tree", (b".py", b".ipynb"))
            (Path(part) / "tree").rename(folder) if (Path(part) / "tree").is_dir() else folder.mkdir()
    return folder


def git_directory(home: Path) -> Path | None:
    below = sorted(home.iterdir()) if home.is_dir() else []
    places = [place for folder in (home, *below) for place in (folder, folder / ".git")]
    return next((place for place in places if (place / "HEAD").exists()), None)


def _unpack(git: Path, commit: str, into: Path, suffixes: tuple[bytes, ...]) -> None:
    """A mirror may list a file without holding it: such a file is left out."""
    listed = _git(git, "ls-tree", "-r", "-z", commit).split(b"\0")
    entries = [entry.split(b"\t", 1) for entry in listed if entry.endswith(suffixes)]
    blobs = [(about.split()[2], os.fsdecode(name)) for about, name in entries if about.split()[1] == b"blob"]
    packed = _git(git, "cat-file", "--batch", given=b"".join(blob + b"\n" for blob, _ in blobs))
    at = 0
    for _, name in blobs:
        end = packed.index(b"\n", at)
        head, at = packed[at:end].split(), end + 1
        if head[1] == b"missing":
            continue
        size = int(head[2])
        file = into / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(packed[at : at + size])
        at += size + 1


def _git(git: Path, *arguments: str, given: bytes = b"") -> bytes:
    done = subprocess.run(["git", "-C", str(git), *arguments], input=given, capture_output=True)
    return done.stdout
