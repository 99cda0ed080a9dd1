"""Findings that are known, so that only new ones fail: for a repository that has some and wants no more.

An entry knows its finding by rule, file, function and the text of the line, and counts them, so that lines may move.
The file is sorted and has one entry a line, so that two branches that shorten it seldom collide.
"""

import json
from collections import Counter
from collections.abc import Sequence
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


def sort_out(findings: Sequence[Finding], path: str, source: Source) -> Sorted:
    left = _load(path)
    new: list[Finding] = []
    for finding in findings:
        identity = identify(finding, source)
        if left[identity] > 0:
            left[identity] -= 1
        else:
            new.append(finding)
    return Sorted(new, len(findings) - len(new), left.total())


def write(findings: Sequence[Finding], path: str, source: Source) -> None:
    counted = Counter(identify(finding, source) for finding in findings)
    rows = [json.dumps({**identity._asdict(), "count": count}) for identity, count in sorted(counted.items())]
    body = ",\n    ".join(rows)
    text = f'{{\n  "version": {_VERSION},\n  "findings": [{f"{chr(10)}    {body}{chr(10)}  " if rows else ""}]\n}}\n'
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}", slug="baseline") from None


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
