"""Small faults that one look at the text shows. Each detector is asked where what it needs happens at all, says first
which words it needs, and then looks."""

from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.source.memory import (
    averages,
    evaluations,
    histories,
    itemised,
    keepsakes,
    kept,
    meters,
    recurrent,
    retained,
    slices,
    totals,
)
from zerograd.source.values.reading import Reading


def detect(function: Reading) -> Iterator[Finding]:
    kinds = {act.kind for act in function.acts}
    if Kind.DEPOSIT in kinds:
        yield from _backwards(function)
    if function.loops:
        yield from keepsakes.detect(function)
        yield from itemised.detect(function)
        yield from slices.detect(function)


def _backwards(function: Reading) -> Iterator[Finding]:
    """Of what goes backward: how it is deposited, and who keeps its graph."""
    yield from averages.detect(function)
    yield from kept.detect(function)
    yield from meters.detect(function)
    yield from histories.detect(function)
    yield from totals.detect(function)
    yield from retained.detect(function)
    yield from recurrent.detect(function)
    yield from evaluations.inside(function)
