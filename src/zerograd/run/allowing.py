"""Findings of a run that a comment in the program allows: the same comments that `zerograd check` knows.

A run and source may tell one fault at two lines: at the guard and at the step behind it, at the clear and at the step.
So a comment that names the rule serves wherever the finding has a place, and at the head of an `if` around it.
"""

import ast
import linecache
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zerograd.core.events import Site
from zerograd.core.findings import Finding
from zerograd.rules import words_name
from zerograd.run.sites import located

if TYPE_CHECKING:
    from zerograd.core.comments import Comment


class Allowing:
    """Each place is asked once: a fault may come with every step."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Site], bool] = {}
        self._files: dict[str, Sequence[Comment]] = {}

    def allows(self, finding: Finding) -> bool:
        key = (finding.code, finding.site)
        if key not in self._known:
            self._known[key] = self._asked(finding)
        return self._known[key]

    def _asked(self, finding: Finding) -> bool:
        path = finding.site.path
        here = [one for one in self._comments(path) if one.covers(finding.site.line)]
        if any(not one.items for one in here):
            return True
        guards = [Site(path, line) for line in _guards(finding.site)] if self._comments(path) else []
        places = [*guards, *(related.site for related in finding.related)]
        here += [one for place in places for one in self._comments(place.path) if one.covers(place.line)]
        return any(finding.code in words_name(item.word, native=one.native) for one in here for item in one.items)

    def _comments(self, path: str) -> Sequence["Comment"]:
        if path not in self._files:
            text = _text(path)
            self._files[path] = ()
            if "zerograd:" in text or "noqa" in text.lower():
                from zerograd.core.comments import comments_of  # 5 ms: most programs have no such comment

                self._files[path] = comments_of(text)
        return self._files[path]


def _text(path: str) -> str:
    return "".join(linecache.getlines(located(path)))


def _guards(site: Site) -> Iterator[int]:
    """The lines with the heads of the `if`s that this place stands under."""
    try:
        tree = ast.parse(_text(site.path))
    except (SyntaxError, ValueError):  # a cell with magics
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.lineno <= site.line <= (node.end_lineno or node.lineno):
            yield node.lineno
