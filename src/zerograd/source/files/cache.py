"""Findings of files that were read before, kept in a folder that may be deleted at any moment.

An entry is named after everything its findings hang on: this version of zerograd and of Python, the rules that are
chosen, the file's path and its text. It lists the other files that were looked at on the way, with their contents;
if one of them has changed, come or gone, the entry does not count. It is written under another name and then moved, so
that runs side by side never see half of one; and it begins with a digest of itself, so that a damaged one is not
believed. It is plain data: whatever lies in the folder, nothing of it is executed.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Edit, Finding, Fix, Related, Safety, Severity
from zerograd.source.files.tree import EVERY_FILE, python_files_below

_TAG = "CACHEDIR.TAG"  # bford.info/cachedir: backups leave the folder out
_SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n# Findings of zerograd check. Delete it whenever you like.\n"
_DAY = 24 * 60 * 60
_KEPT = 30 * _DAY  # since an entry was last of use
_READERS = ("core", "rules", "source")  # the folders of zerograd whose code decides what is found


class Cache:
    """The findings that are known for some choice of rules; None stands for all of them. Without `notes` those have no
    fixes."""

    def __init__(self, folder: str, *, version: str, codes: Iterable[str] | None = None, notes: bool = True) -> None:
        self._folder = folder
        chosen = "ALL" if codes is None else ",".join(sorted(codes))
        here = os.path.relpath(os.curdir, folder)  # where the paths begin: one folder serves a whole project
        self._stamp = "\0".join((version, sys.version, _fingerprint(), chosen, here, "notes" if notes else ""))
        self._digests: dict[str, str | None] = {}  # of other files, each looked at once in a run

    def get(self, path: str, text: str) -> list[Finding] | None:
        """None: this text was not read before, or what it imports is not what it was."""
        entry = self._entry(path, text)
        try:
            with open(entry, encoding="utf-8") as file:
                digest, _, body = file.read().partition("\n")
            if digest != _digest(body):
                return None
            known = json.loads(body)
            if any(self._digest_of(other) != digest for other, digest in known["dependencies"].items()):
                return None
            os.utime(entry)
        except (OSError, ValueError):
            return None
        return [_finding(row) for row in known["findings"]]

    def put(self, path: str, text: str, findings: list[Finding], looked_for: Iterable[str]) -> None:
        """Best effort: a folder that cannot be written costs time, not findings."""
        dependencies = {other: self._digest_of(other) for other in sorted(looked_for)}
        body = json.dumps({"dependencies": dependencies, "findings": [_row(finding) for finding in findings]})
        entry = self._entry(path, text)
        unfinished = f"{entry}.{os.getpid()}.{time.monotonic_ns()}"
        try:
            self._make()
            with open(unfinished, "w", encoding="utf-8") as file:
                file.write(f"{_digest(body)}\n{body}")
            os.replace(unfinished, entry)
        except OSError:
            return

    def prune(self) -> None:
        """Drop what was of no use for 30 days; looks once a day."""
        now = time.time()
        tag = os.path.join(self._folder, _TAG)
        try:
            if now - os.stat(tag).st_mtime < _DAY:
                return
            os.utime(tag)
            with os.scandir(self._folder) as entries:
                old = [entry.path for entry in entries if now - entry.stat().st_mtime > _KEPT]
            for path in old:
                if not path.endswith((_TAG, ".gitignore")):
                    os.unlink(path)
        except OSError:  # another run was here first
            return

    def _make(self) -> None:
        if os.path.isdir(self._folder):
            return
        os.makedirs(self._folder, exist_ok=True)
        for name, content in ((".gitignore", "*\n"), (_TAG, _SIGNATURE)):
            with open(os.path.join(self._folder, name), "w", encoding="utf-8") as file:
                file.write(content)

    def _entry(self, path: str, text: str) -> str:
        return os.path.join(self._folder, _digest("\0".join((self._stamp, path, text))))

    def _digest_of(self, path: str) -> str | None:
        """Of a file's bytes, of the names in a folder, or of all Python files below one: `folder/**/*.py`. None: there
        is no such thing."""
        if path not in self._digests:
            try:
                if path.endswith(EVERY_FILE):
                    files = python_files_below(path[: -len(EVERY_FILE)] or ".")
                    self._digests[path] = _digest("\0".join(f"{one} {self._digest_of(one)}" for one in files))
                elif os.path.isdir(path):
                    self._digests[path] = _digest("\0".join(sorted(os.listdir(path))))
                else:
                    with open(path, "rb") as file:
                        self._digests[path] = hashlib.blake2b(file.read(), digest_size=16).hexdigest()
            except OSError:
                self._digests[path] = None
        return self._digests[path]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _fingerprint() -> str:
    """Changes when the checker itself does: a developer's cache must not answer for yesterday's rules."""
    package = __file__[: -len(os.path.join("source", "files", "cache.py"))]
    try:
        files = [entry for folder in _READERS for entry in _below(os.path.join(package, folder))]
    except OSError:  # inside a zip archive, where nobody edits
        return ""
    stats = ((entry.path, entry.stat()) for entry in files if entry.name.endswith(".py"))
    return " ".join(sorted(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats))


def _below(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield from _below(entry.path) if entry.is_dir() else (entry,)


def _row(finding: Finding) -> dict[str, object]:
    return {
        **finding._asdict(),
        "certainty": finding.certainty.value,
        "severity": finding.severity.value,
        "fix": finding.fix and (finding.fix.message, finding.fix.edits, finding.fix.safety.value),
    }


def _finding(row: Mapping[str, Any]) -> Finding:
    return Finding(
        **{
            **row,
            "site": Site(*row["site"]),
            "certainty": Certainty(row["certainty"]),
            "severity": Severity(row["severity"]),
            "related": tuple(Related(Site(*site), message) for site, message in row["related"]),
            "fix": row["fix"] and _fix(*row["fix"]),
        }
    )


def _fix(message: str, edits: list[list[Any]], safety: str) -> Fix:
    return Fix(message, tuple(Edit(*edit) for edit in edits), Safety(safety))
