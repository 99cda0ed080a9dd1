"""What a finding is known by when lines move: its rule, its file, the function around it, and the text of its line."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from zerograd.core.findings import Finding
from zerograd.report.text import Source

_HEAD = re.compile(r"(\s*)(?:async\s+)?(?:def|class)\s+(\w+)")


class Identity(NamedTuple):
    path: str
    code: str
    function: str  # Trainer.fit; empty at the top of a file
    text: str  # of the line, its spaces made single


def identify(finding: Finding, source: Source) -> Identity:
    site = finding.site
    lines = source(site.document) or []
    text = " ".join(lines[site.line - 1].split()) if 0 < site.line <= len(lines) else finding.message
    return Identity(site.path.replace("\\", "/"), finding.code, enclosing(lines, site.line), text)


def enclosing(lines: list[str], number: int) -> str:
    """The function and class around a line, by indentation: a file that does not parse has them too."""
    if not 0 < number <= len(lines):
        return ""
    names: list[str] = []
    indent = _indent(lines[number - 1])
    for line in reversed(lines[: number - 1]):
        if indent and line.strip() and _indent(line) < indent:
            head = _HEAD.match(line)
            if head is not None:
                names.append(head[2])
            if head is not None or not line.lstrip().startswith((")", "]", "}", "#")):
                indent = _indent(line)
    return ".".join(reversed(names))


def _indent(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


def fingerprints(findings: Iterable[Finding], source: Source) -> Iterator[str]:
    """One for each finding, the same when its line has moved, and never one for two."""
    import hashlib

    met: Counter[Identity] = Counter()
    for finding in findings:
        identity = identify(finding, source)
        met[identity] += 1
        parts = "\0".join((*identity, str(met[identity])))
        yield hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
