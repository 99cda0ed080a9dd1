"""What a file does to gradients, and where: for whoever changes it, or counts."""

from collections.abc import Iterator
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.source.check import laws
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.roots import execute_all
from zerograd.source.heap.objects import ObjectKind
from zerograd.source.project.files import Project


class Acts(NamedTuple):
    """Where a file goes backward, clears and steps, in the order of places."""

    deposits: tuple[Site, ...]
    clears: tuple[Site, ...]
    steps: tuple[Site, ...]
    scaled: frozenset[Site]  # the steps that a gradient scaler takes
    is_managed: bool  # something beside torch may decide when gradients are cleared: an engine, a captured graph


def acts(text: str, path: str = "<text>", *, project: Project | None = None) -> Acts:
    """What a file does to gradients, and where. Raises SourceError if it is not Python."""
    project = project or Project()
    file = project.open(path, text)
    found = [one for root in execute_all(project, file, laws(), _acts) for one in root.told]
    deposits, clears, steps = (
        tuple(sorted({site for one in found for site in getattr(one, kind) if site.path == file.path}))
        for kind in ("deposits", "clears", "steps")
    )
    scaled = frozenset().union(*(one.scaled for one in found))
    return Acts(deposits, clears, steps, scaled, any(one.is_managed for one in found))


NO_ACTS = Acts((), (), (), frozenset(), is_managed=False)
_MANAGING = (ObjectKind.ACCELERATOR, ObjectKind.ENGINE, ObjectKind.REPLAY)


def _acts(ex: Execution) -> Iterator[Acts]:
    steps = tuple(site for _, site, _ in ex.taken)
    scaled = frozenset(site for sites in ex.steps_of_scalers.values() for site in sites)
    managed = any(one.kind in _MANAGING for one in ex.heap.all())
    yield Acts(tuple(ex.deposits), tuple(ex.clears), steps, scaled, managed)
