"""Graphs that are kept alive and never used again (ZG402).

Two ways to do it. `retain_graph=True` where no later backward runs through the graph: nodes are numbered as they are
made, so a later graph whose oldest node is younger than this one's newest shares nothing with it; and a mark on all of
its nodes is dead, so that nobody holds a part of it to go through it later. And a loss that is added up with its graph:
a mark on its last node lives as long as the node does.
"""

import contextlib
from collections.abc import Sequence
from typing import Any
from weakref import ref

from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.core.findings import Severity
from zerograd.rules.retained_graph import DROP
from zerograd.rules.telling import note
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.graph import every_node, newest, survey
from zerograd.run.keepers import line_that_keeps
from zerograd.run.sites import user_frame

_OFTEN = 3
_WATCHED = 16  # losses of a line that are marked, one for each step: a list of the last few is nobody's fault
_KEY = "zerograd"


class _Mark:
    """Lives as long as the node in whose metadata it stands."""

    __slots__ = ("__weakref__",)


class _Line:
    def __init__(self) -> None:
        self.marks: list[ref[_Mark]] = []
        self.kept: int | None = None  # the newest node of the last graph that was kept
        self.held: ref[_Mark] | None = None  # lives as long as some node of it
        self.idle = 0  # graphs that were kept in a row and not used again
        self.used = False


class Retained(Detector):
    codes = ("ZG402",)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._lines: dict[Site, _Line] = {}

    def done_with(self, site: Site) -> bool:
        line = self._lines.get(site)
        return line is None or (line.kept is None and len(line.marks) > _WATCHED)

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        if not self.rules or not roots:
            return
        line = self._lines.setdefault(deposit.site, _Line())
        self._ask_the_kept(roots, deposit.site)
        if kept and line.idle < _OFTEN and not line.used:
            line.kept, line.held = newest(roots), _marked(every_node(roots))
        if not kept and not any(account.window.deposits for account in accounts):
            self._outlived(line, deposit, roots[0].grad_fn)

    def gap(self) -> None:
        """Whoever used what was kept may not have been seen."""
        for line in self._lines.values():
            line.kept = None

    def used(self) -> None:
        """autograd.grad() ran through a graph that may have been kept for it."""
        for line in self._lines.values():
            if line.kept is not None:
                line.kept, line.used = None, True

    def _ask_the_kept(self, roots: Sequence[Tensor], here: Site) -> None:
        """Whether this backward goes through what was kept. Nobody did, if its own line comes round before."""
        waiting = {site: line for site, line in self._lines.items() if line.kept is not None}
        found = survey(roots, {}) if waiting else None
        for site, line in waiting.items():
            assert found is not None
            assert line.kept is not None
            apart = found.whole and found.oldest > line.kept
            if apart and site != here:
                continue
            line.kept = None
            if apart and line.held is not None and line.held() is not None:
                continue
            line.idle = line.idle + 1 if apart else 0
            line.used = line.used or not apart
            if line.idle == _OFTEN:
                self._unused(site)

    def _unused(self, site: Site) -> None:
        what = "backward(retain_graph=True) keeps a graph that nothing uses again"
        self._note(site, what, remedy=DROP)

    def _note(self, site: Site, what: str, remedy: str = "", led: Sequence[tuple[Event | Site, str]] = ()) -> None:
        """It costs little: a backward has freed what the graph had saved, or frees it when the next graph is made."""
        rule = self.rules.get("ZG402")
        if rule is not None:
            told = rule._replace(severity=Severity.NOTE, remedy=remedy or rule.remedy)
            self.say_as(note(told, site, certain=True, what=what), led)

    def _outlived(self, line: _Line, deposit: Deposit, node: Any) -> None:
        if len(line.marks) > _WATCHED:
            return
        line.marks.append(_marked([node]))
        if len(line.marks) > _WATCHED and all(known() is not None for known in line.marks):
            self._kept(deposit, {id(known()) for known in line.marks[:-1]})

    def _kept(self, deposit: Deposit, marks: set[int]) -> None:
        """Every loss of this line lives on: told at the line that adds it up or collects it, if that is found."""
        where = line_that_keeps(user_frame(), lambda node: not marks.isdisjoint(map(id, _marks_of(node))))
        if where is None:
            self._note(deposit.site, "something keeps this loss with its graph in every iteration")
            return
        what = "this line keeps the loss with its graph in every iteration"
        self._note(where, what, led=[(deposit.event, "runs backward on this loss")])


def _marked(nodes: Sequence[Any]) -> ref[_Mark]:
    """A new mark, which lives as long as one of these nodes does."""
    mark = _Mark()
    for node in nodes:
        with contextlib.suppress(Exception):  # a node of another make may keep no metadata
            node.metadata.setdefault(_KEY, []).append(mark)
    return ref(mark)


def _marks_of(node: Any) -> list[_Mark]:
    try:
        return list(node.metadata.get(_KEY, ()))
    except Exception:  # a node of another make
        return []
