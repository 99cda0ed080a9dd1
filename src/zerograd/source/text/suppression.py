"""Findings that a comment allows are taken out; comments that allow nothing are findings themselves (ZG901)."""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from zerograd.core.events import Site
from zerograd.core.findings import Edit, Finding, Fix, Safety
from zerograd.errors import UsageError
from zerograd.rules import REGISTRY, select, words_name
from zerograd.rules.rule import Rule, Sees
from zerograd.rules.telling import note
from zerograd.source.text.addressed import may_allow
from zerograd.source.text.lines import lines_of, to_column

if TYPE_CHECKING:
    from zerograd.core.comments import Comment, Item

UNUSED = "ZG901"
_OURS = REGISTRY[UNUSED]
JUDGED = frozenset(code for code, rule in REGISTRY.items() if Sees.SOURCE in rule.sees)  # by reading source


def allow(findings: list[Finding], text: str, path: str, rules: Iterable[Rule]) -> list[Finding]:
    """The findings that no comment of the text allows, and one for each comment, or part of one, that allows none.

    `rules`: those that were looked for. What was not looked for leaves a comment unjudged.
    """
    if not may_allow(text) and not (findings and "noqa" in text.lower()):
        return findings
    from zerograd.core.comments import comments_of, may_name_us  # 5 ms: most files have no such comment

    if not may_name_us(text):
        return findings

    chosen = frozenset(rule.code for rule in rules)
    ledger = [_Entry(comment) for comment in comments_of(text)]
    there = os.path.normpath(path)  # what this text brings out in another file, a comment there may allow
    kept = [one for one in findings if os.path.normpath(one.site.path) != there or not _is_allowed(one, ledger)]
    if _OURS.code not in chosen:
        return kept
    lines = lines_of(text)
    unused = [finding for entry in ledger for finding in entry.unused(path, lines, chosen)]
    return sorted(
        [*kept, *(finding for finding in unused if not _is_allowed(finding, ledger, blanket=False))],
        key=lambda finding: (finding.site, finding.code),
    )


def allows(text: str, finding: Finding) -> bool:
    """Whether a comment of a text allows a finding there, which another file has brought out."""
    if not may_allow(text) and "noqa" not in text.lower():
        return False
    from zerograd.core.comments import comments_of

    return _is_allowed(finding, [_Entry(comment) for comment in comments_of(text)])


def _is_allowed(finding: Finding, ledger: list["_Entry"], *, blanket: bool = True) -> bool:
    """Every comment that covers it is asked: all of them are of use, not only the first."""
    return sum(entry.allows(finding, blanket=blanket) for entry in ledger) > 0


class _Entry:
    """One comment, and which of its parts have been of use."""

    def __init__(self, comment: "Comment") -> None:
        self._comment = comment
        self._codes = {item: words_name(item.word, native=comment.native) for item in comment.items}
        self._used: set[Item | None] = set()

    def allows(self, finding: Finding, *, blanket: bool) -> bool:
        if not self._comment.covers(finding.site.line):
            return False
        parts: list[Item | None] = [item for item, codes in self._codes.items() if finding.code in codes]
        if not self._comment.items and blanket:
            parts = [None]
        self._used.update(parts)
        return bool(parts)

    def unused(self, path: str, lines: list[str], chosen: frozenset[str]) -> Iterator[Finding]:
        """At most one finding, about all the parts that are of no use."""
        if not self._comment.items:
            # A bare noqa is for others as much as for us.
            if self._comment.native and not self._used and chosen >= JUDGED:
                yield self._tell(path, lines, [], "every rule, and none of them finds anything here")
            return
        unknown = [item for item, codes in self._codes.items() if not codes and self._comment.native]
        absent = [
            item
            for item, codes in self._codes.items()
            if item not in self._used and codes & JUDGED and codes & JUDGED <= chosen and codes != {_OURS.code}
        ]
        told = [_named(absent, "is not found here", "are not found here")] if absent else []
        told += [_named(unknown, "is no rule", "are no rules") + _meant(unknown)] if unknown else []
        if told:
            yield self._tell(path, lines, [*absent, *unknown], ", and ".join(told))

    def _tell(self, path: str, lines: list[str], items: "list[Item]", allowed: str) -> Finding:
        comment = self._comment
        line = lines[comment.line - 1]
        start = min((item.start for item in items), default=comment.start)
        end = max((item.end for item in items), default=comment.end)
        site = Site(path, comment.line, to_column(line, start), comment.line, to_column(line, end))
        left = [item for item in comment.items if item not in items]
        fix = Fix("remove the comment", (self._shortened(line, left) if left else self._removed(lines),), Safety.SAFE)
        return note(_OURS, site, certain=True, allowed=allowed)._replace(fix=fix)

    def _shortened(self, line: str, left: "list[Item]") -> Edit:
        items = self._comment.items
        return self._edit(line, items[0].start, items[-1].end, ", ".join(item.word for item in left))

    def _removed(self, lines: list[str]) -> Edit:
        """The whole comment with the reason behind it, and its line if it has one of its own."""
        comment = self._comment
        line = lines[comment.line - 1]
        if comment.alone and comment.line < len(lines):
            return Edit(comment.line, 1, comment.line + 1, 1, "")
        last = comment.reach == len(line)
        return self._edit(line, len(line[: comment.start].rstrip()) if last else comment.start, comment.reach, "")

    def _edit(self, line: str, start: int, end: int, text: str) -> Edit:
        return Edit(self._comment.line, to_column(line, start), self._comment.line, to_column(line, end), text)


def _named(items: "list[Item]", one: str, several: str) -> str:
    return f"{' and '.join(item.word for item in items)}, which {one if len(items) == 1 else several}"


def _meant(items: "list[Item]") -> str:
    """What was mistyped, if one word is nearly that of a rule."""
    try:
        select([items[0].word])
    except UsageError as error:
        if len(items) == 1 and error.cure.startswith("Did you mean"):
            return f" ({error.cure[0].lower()}{error.cure[1:]})"
    return ""
