"""Small faults that only a whole file shows: what one function does, and what the others make of it."""

from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.source.memory import evaluations, lightning, retained, rollouts
from zerograd.source.values.reading import File


def detect(file: File) -> Iterator[Finding]:
    yield from evaluations.detect(file)
    yield from lightning.detect(file)
    yield from retained.needless_derivatives(file)
    yield from rollouts.detect(file)
