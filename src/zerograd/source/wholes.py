"""Small faults that only a whole file shows: what one function does, and what the others make of it."""

from collections.abc import Iterator

from zerograd.core.findings import Finding
from zerograd.source import evaluations, lifeless, listed, rebinding, rollouts, unpickled
from zerograd.source.reading import File


def detect(file: File) -> Iterator[Finding]:
    yield from evaluations.detect(file)
    yield from lifeless.detect(file)
    yield from listed.detect(file)
    yield from rebinding.detect(file)
    yield from rollouts.detect(file)
    yield from unpickled.detect(file)
