"""What happened on the way to a fault, and what may have: the places that stand beside a finding.

Facts say which kinds of event a path may have skipped, not where. Each place that leaves a doubt, and each event with
the branches it stands in, is written down here and looked up for the few findings that need it.
"""

import ast
from enum import Enum
from typing import TYPE_CHECKING

from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import Doubts, skipping
from zerograd.core.findings import Related
from zerograd.core.judgement import Trail
from zerograd.core.machine import State

if TYPE_CHECKING:
    from zerograd.source.execute.execution import Execution
    from zerograd.source.execute.paths import Slot

Answered = frozenset[tuple[object, bool]]  # tests, and how a path answered them


class Why(Enum):
    """Why a place leaves a doubt, in the words of a finding."""

    UNREAD = "zerograd cannot read {what}, which may {act}"
    TEST = "this condition decides whether to {act}"
    LOOP = "this loop may {act}, and may not run at all"
    RAISED = "an exception may skip the line that would {act}"
    OTHERS = "{what} may be for other parameters"
    CALLER = "the caller of this function may {act}"


_UNREAD = frozenset({Why.UNREAD, Why.OTHERS, Why.CALLER})
_ACT = {
    Kind.CLEAR: "clear the gradients",
    Kind.CONSUME: "step",
    Kind.SCHEDULE: "step",  # the step that a schedule waits for
    Kind.DEPOSIT: "run backward()",
    Kind.UNSCALE: "unscale",
    Kind.CLIP: "clip",
}


class Excuses:
    """The places that may do something to a slot, by the kind of event."""

    def __init__(self) -> None:
        self._places: dict[tuple[Slot, Kind], dict[Site, tuple[Why, ast.AST]]] = {}

    def note(self, ex: "Execution", slot: "Slot", kinds: Doubts, node: ast.AST | None, why: Why) -> None:
        """A path goes past this node, which may do something of these kinds to the slot."""
        if ex.exploring or node is None or not isinstance(node, (ast.expr, ast.stmt, ast.ExceptHandler)):
            return
        site = ex.site(node)
        for kind in skipping(kinds):
            self._places.setdefault((slot, kind), {}).setdefault(site, (why, node))

    def is_unread(self, slot: "Slot", kind: Kind) -> bool:
        """Whether somebody who cannot be read may do something of this kind to the slot, and not only a branch."""
        return any(why in _UNREAD for why, _ in self._places.get((slot, kind), {}).values())

    def is_from_elsewhere(self, slot: "Slot", kind: Kind) -> bool:
        """Whether the caller may do something of this kind, or an event that may be for other parameters."""
        places = self._places.get((slot, kind), {})
        return any(why in (Why.OTHERS, Why.CALLER) for why, _ in places.values())

    def nearest(self, slot: "Slot", lacking: Kind, judged: Site) -> Related | None:
        """The last place above the event that is judged, else the last one, which a loop comes round from."""
        places = self._places.get((slot, lacking))
        if not places:
            return None
        asked = [site for site, (why, _) in places.items() if why is not Why.LOOP or not _lies_in(judged, site)]
        above = [site for site in asked if site.path == judged.path and site < judged]
        if not asked:
            return None
        site = max(above or asked)
        why, node = places[site]
        what = f"{ast.unparse(node.func)}()" if isinstance(node, ast.Call) else "this"
        act = _ACT.get(lacking, lacking.value)
        return Related(site, f"only possible: {why.value.format(what=what, act=act)}")


def _lies_in(inner: Site, outer: Site) -> bool:
    return inner.path == outer.path and outer.line <= inner.line <= outer.end_line


class Events:
    """What happened to one slot, each event with the branches that it stands in."""

    def __init__(self) -> None:
        self._met: dict[tuple[State, Event], Answered] = {}

    def note(self, state: State, event: Event, taken: Answered) -> None:
        known = self._met.get((state, event))
        self._met[(state, event)] = taken if known is None else known & taken

    def on_the_way(self, taken: Answered) -> Trail:
        """The events of the paths that answered the same tests alike: those in another arm of a branch are not."""
        trail = Trail(latest=False)
        for (state, event), answered in self._met.items():
            if not any((test, not yes) in taken for test, yes in answered):
                trail.follow(state, event)
        return trail
