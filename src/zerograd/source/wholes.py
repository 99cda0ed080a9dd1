"""Small faults that only a whole file shows: what one function does, and what the others make of it."""

from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.source import evaluations, lifeless, listed, parameters, rebinding, rollouts, unpickled
from zerograd.source.reading import File, Reading
from zerograd.source.triggers import may_replace


def detect(file: File) -> Iterator[Finding]:
    yield from evaluations.detect(file)
    yield from lifeless.detect(file)
    yield from listed.detect(file)
    yield from rebinding.detect(file)
    yield from rollouts.detect(file)
    yield from unpickled.detect(file)
    yield from _orphaned(file)


def _orphaned(file: File) -> Iterator[Finding]:
    """Optimizers that are made and handed on, in functions where nothing is trained."""
    program = file.program
    if not may_replace(file.text):
        return
    if not program.module:
        yield from parameters.orphaned(Reading(program.tree, (), program.roots.module, file))
    for function in program.roots.functions:
        if function.node not in program.relevant:
            yield from parameters.orphaned(Reading(function.node, (), function.scope, file))
