"""Why a finding is only possible: the place whose doubt may excuse it, told beside what led there.

Facts keep the kinds of event that a path may have skipped, not where it did: the place is looked for afterwards, for
the few findings that need one. Of several it is the nearest above the event that is judged, else the last one of the
function, which a loop comes round from. Where nothing in the text may do what is lacking, the caller may.
"""

from collections.abc import Iterator

from zerograd.core.events import Kind, Site
from zerograd.core.facts import Doubts, skipping
from zerograd.core.findings import Related
from zerograd.source.lowering.skeleton import Act, Block, Blur, Call, Choice, Loop, walk
from zerograd.source.walking.frames import Frames

_VERB = {
    Kind.CLEAR: "clear",
    Kind.CONSUME: "step",
    Kind.SCHEDULE: "step",  # the step that a schedule waits for
    Kind.DEPOSIT: "deposit",
    Kind.UNSCALE: "unscale",
    Kind.CLIP: "clip",
}
_Doubt = tuple[Site, str]


class Excuses:
    """What may excuse a fault at the event `judged`, which lacks one of this kind."""

    def __init__(self, lacking: Kind, judged: Site, frames: Frames) -> None:
        self._kind, self._may = lacking, _VERB.get(lacking, lacking.value)
        self._judged = judged
        self._frames = frames
        self._known: dict[tuple[object, ...], tuple[list[_Doubt], bool]] = {}

    def nearest(self, block: Block, entered_at: Site | None) -> Related | None:
        """`entered_at`: the function that the block is, if others may call it."""
        found = list(self._doubts(block))
        above = [one for one in found if one[0].path == self._judged.path and one[0] < self._judged]
        if not found and entered_at is None:
            return None
        why = f"whoever calls this function may {self._may}"
        site, why = max(above or found, default=(entered_at or self._judged, why))
        return Related(site, f"only possible: {why}")

    def _doubts(self, block: Block) -> Iterator[_Doubt]:
        """Every place that leaves a doubt about events of the kind, and why."""
        may, frames = self._may, self._frames
        for node in walk(block):
            match node:
                case Blur(kinds, slot, Site() as site, what) if self._is_among(kinds) and frames.hits(slot):
                    yield site, f"what {what} does cannot be read, it may {may}"
                case Choice(body, orelse, site=Site() as site):
                    if self._kind in frames.skipped(body, orelse) | frames.skipped(orelse, body):
                        yield site, f"whether to {may} hangs on this test"
                case Loop(body, runs=False, site=Site() as site) if self._is_among(frames.kinds(body)):
                    if not self._is_in(body):
                        yield site, f"if this loop runs at all, it may {may}"
                case Act(kind, _, site, what) if self._is_among(frozenset({kind})):
                    if node.partial or frames.touches(node) is None:
                        yield site, f"{what} may be for other parameters"
                case Call():
                    yield from self._of_call(node)

    def _is_among(self, kinds: Doubts) -> bool:
        return self._kind in skipping(kinds)

    def _of_call(self, call: Call) -> list[_Doubt]:
        """Those of a function that is called: where it is called, unless it holds what is judged."""
        run = self._frames.run_by(call)
        site, name = call.site or self._judged, run.function.node.name
        if self._frames.is_closed(run):
            return [(site, f"{name}() is not looked into, it may {self._may}")]
        if not self._is_among(self._frames.kinds_of_call(call)):
            return []
        inside, here = self._inside(run)
        return inside if here or not inside else [(site, f"{name}() may {self._may}, or not")]

    def _inside(self, run: Call) -> tuple[list[_Doubt], bool]:
        """The doubts of what a call runs, and whether it holds what is judged: one function may be called by many."""
        frames = self._frames
        frames.enter(run)
        key = (run.function, frames.names, frames.modules, frames.cls)
        if key not in self._known:
            body = frames.body_of(run.function)
            self._known[key] = list(self._doubts(body)), self._is_in(body)
        frames.leave()
        return self._known[key]

    def _is_in(self, block: Block) -> bool:
        """Whether the event that is judged stands in a block, or in what it calls."""
        for node in walk(block):
            if isinstance(node, Act) and node.site == self._judged:
                return True
            if isinstance(node, Call) and not self._frames.is_closed(run := self._frames.run_by(node)):
                self._frames.enter(run)
                found = self._is_in(self._frames.body_of(run.function))
                self._frames.leave()
                if found:
                    return True
        return False
