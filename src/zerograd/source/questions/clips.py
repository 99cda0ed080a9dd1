"""Does every clip shorten something that a step uses?

One that was made into a copy which nobody takes does not; nor does a clip of parameters that the next step does not
hold, while those that it does hold go unclipped.
"""

from collections.abc import Iterator

from zerograd.core.world import UnusedClip
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.gradients import held_by
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.regions import Covers, is_unknown
from zerograd.source.heap.values import is_none

_NO_COPY = "clip the parameters themselves, not a copy of their gradients"
_THE_SAME = "clip the parameters that the next step updates"


def unused(ex: Execution) -> Iterator[UnusedClip]:
    for site, made in ex.clips.items():
        if ex.returned is not None and not is_none(ex.returned) and not ex.deposits:
            # A framework goes backward with what was returned, and has cleared before that.
            yield UnusedClip(site, made.what, "before backward() has run", True)
        elif made.copied:
            yield UnusedClip(site, made.what, "a copy of the gradients, which nothing uses", True, _NO_COPY)
        elif made.passed and not made.used:
            step = min(made.passed).what or "step()"
            known = all(_is_known(ex, region) for region in made.regions)
            bare = all(one.bare for one in made.passed)
            certain = bool(made.regions) and known and bare
            yield UnusedClip(site, made.what, f"what {step} does not update", certain, _THE_SAME)


def _is_known(ex: Execution, region: Obj) -> bool:
    """Whether everybody who steps on a region is in sight: one who steps here holds it, or it was made here."""
    if is_unknown(region):
        return False
    holders = [one for one in ex.tables.active for held in held_by(one) if _meets(ex, held, region)]
    idle = [
        slot[0]
        for slot in ex.tables.slots
        if slot[0] is not None
        and slot[1] is not None
        and slot[0] not in ex.tables.active
        and _meets(ex, slot[1], region)
    ]
    return bool(holders) or (not region.given and not idle)


def _meets(ex: Execution, one: Obj, other: Obj) -> bool:
    return ex.overlap.of(one, {other}) is not Covers.NO
