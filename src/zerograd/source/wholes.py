"""Small faults that only a whole file shows: what one function does, and what the others make of it."""

from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.source.holding import (
    fleeting,
    forgotten,
    parameters,
    ungiven,
    unowned,
    unpickled,
)
from zerograd.source.memory import evaluations, lightning, retained, rollouts
from zerograd.source.text.lines import within
from zerograd.source.text.triggers import may_replace
from zerograd.source.values.reading import File, Reading


def detect(file: File) -> Iterator[Finding]:
    yield from evaluations.detect(file)
    yield from fleeting.detect(file)
    yield from forgotten.detect(file)
    yield from lightning.detect(file)
    yield from retained.needless_derivatives(file)
    yield from rollouts.detect(file)
    yield from ungiven.detect(file)
    yield from unowned.detect(file)
    yield from unpickled.detect(file)
    yield from _orphaned(file)


def _orphaned(file: File) -> Iterator[Finding]:
    """Optimizers that are made and handed on, in functions where nothing is trained."""
    program = file.program
    if not program.module and may_replace(file.text):
        yield from parameters.orphaned(Reading(program.tree, (), program.roots.module, file))
    for one in program.roots.functions if file.says(".parameters()") else ():
        text = within(file.text, one.node) if one.node not in program.relevant else ""
        if ".parameters()" in text and may_replace(text):
            yield from parameters.orphaned(Reading(one.node, (), one.scope, file))
