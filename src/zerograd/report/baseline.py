"""Findings that are known, so that only new ones fail: for a repository that has some and wants no more.

An entry knows its finding by rule, file, function and the text of the line, and counts them, so that lines may move.
Files are named as seen from the baseline's own folder, wherever a check is typed; a check of some files says nothing
about the entries of the others. It is sorted and has one entry a line, so that two branches that shorten it seldom
collide.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from zerograd.core.findings import Finding
from zerograd.errors import UsageError
from zerograd.report.identity import Identity, identify
from zerograd.report.text import Source

_VERSION = 1


class Sorted(NamedTuple):
    new: list[Finding]
    known: int
    gone: int  # entries that are found no more


def sort_out(findings: Sequence[Finding], path: str, source: Source, *, read: Collection[str] = ()) -> Sorted:
    """`read`: the files that were checked, whether anything was found in them or not."""
    left = _load(path)
    new: list[Finding] = []
    for finding in findings:
        identity = _from(path, identify(finding, source))
        if left[identity] > 0:
            left[identity] -= 1
        else:
            new.append(finding)
    stays = _staying(path, read)
    gone = sum(count for identity, count in left.items() if not stays(identity))
    return Sorted(new, len(findings) - len(new), gone)


def write(findings: Sequence[Finding], path: str, source: Source, *, read: Collection[str]) -> int:
    """Returns how many it holds now: these, and those of files that were not read."""
    counted = Counter(_from(path, identify(finding, source)) for finding in findings)
    if os.path.exists(path):
        stays = _staying(path, read)
        counted += Counter({entry: times for entry, times in _load(path).items() if stays(entry)})
    rows = [json.dumps({**identity._asdict(), "count": count}) for identity, count in sorted(counted.items())]
    body = ",\n    ".join(rows)
    text = f'{{\n  "version": {_VERSION},\n  "findings": [{f"{chr(10)}    {body}{chr(10)}  " if rows else ""}]\n}}\n'
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}", slug="baseline") from None
    return counted.total()


def _from(baseline: str, identity: Identity) -> Identity:
    """The same, its file named as seen from the baseline's folder."""
    home = os.path.dirname(os.path.abspath(baseline))
    return identity._replace(path=os.path.relpath(os.path.abspath(identity.path), home).replace("\\", "/"))


def _staying(baseline: str, read: Collection[str]) -> Callable[[Identity], bool]:
    """Of which entries nobody can say that they are gone: their file is there, and was not read."""
    home = os.path.dirname(os.path.abspath(baseline))
    known = {os.path.abspath(file) for file in read}

    def stays(entry: Identity) -> bool:
        file = os.path.normpath(os.path.join(home, entry.path))
        return file not in known and os.path.exists(file)

    return stays


def _load(path: str) -> Counter[Identity]:
    try:
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
        if table["version"] != _VERSION:
            raise UsageError(f"{path}: a baseline of another version: {table['version']}", slug="baseline")
        return Counter({_identity(row): int(row["count"]) for row in table["findings"]})
    except FileNotFoundError:
        cure = f"Write it first: zerograd check --baseline {path} --write-baseline"
        raise UsageError(f"no baseline {path!r}", cure=cure, slug="baseline") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: cannot be read as a baseline", slug="baseline") from None


def _identity(row: dict[str, str]) -> Identity:
    return Identity(row["path"], row["code"], row["function"], row["text"])
