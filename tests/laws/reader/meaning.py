"""That the rewrites keep the meaning: a program does the same to gradients before and after, at places that stand for
it.

The yardstick of law 1 is itself held to the run. Only the module bodies of programs that run by themselves are asked: a
root is handed stand-ins, which go by words, and a rewrite that renames would be handed other ones.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from laws.reader.corpus import Case
from laws.reader.driver.driving import drive_all
from laws.reader.driver.probe import Moment, Seen
from laws.reader.oracle import trains
from laws.reader.readers import MAIN, Files, Place
from laws.reader.rewrites import REWRITES, rewritten
from laws.reader.rewrites.origins import untouched

BY_THEMSELVES = ("faults: ", "legal: ")


class Difference(NamedTuple):
    case: str
    rewrite: str
    told: str


def differences(cases: Iterable[Case], *, most: int | None = None) -> Iterator[tuple[str, str, Difference | None]]:
    """For each program and each rewrite that applies to it: None where both do the same."""
    chosen = [case for case in cases if case.name.startswith(BY_THEMSELVES)][:most]
    texts = {case.name: untouched(case.text).files[MAIN] for case in chosen}
    before = {name: seen for name, seen in drive_all(_alone(texts), roots=False) if seen}
    images: dict[tuple[str, str], dict[int, frozenset[Place]]] = {}

    def programs() -> Iterator[tuple[tuple[str, str], Files]]:
        for name, text in texts.items():
            for rewrite, function in REWRITES.items():
                done = rewritten(text, function) if name in before and trains(before[name]) else None
                if done is not None:
                    images[name, rewrite] = done.places
                    yield (name, rewrite), done.files

    for (name, rewrite), seen in drive_all(programs(), roots=False):
        told = "it did not end" if seen is None else _compared(before[name], seen, images[name, rewrite])
        yield name, rewrite, Difference(name, rewrite, told) if told else None


def _alone(texts: Mapping[str, str]) -> Iterator[tuple[str, Files]]:
    return ((name, {MAIN: text}) for name, text in texts.items())


def _compared(before: Seen, after: Seen, places: dict[int, frozenset[Place]]) -> str:
    """What differs, in words; nothing where all is the same."""
    if list(map(_deed, before.moments)) != list(map(_deed, after.moments)):
        return f"{_told(before.moments)} became {_told(after.moments)}, {after.stopped_by}"
    for was, now in zip(before.moments, after.moments, strict=True):
        image = {line for _, line in places.get(was.lines[0], ())}
        if not image & set(now.lines):
            return f"line {was.lines[0]} went to {sorted(image)}, and it happened in {now.lines}"
    return ""


def _deed(moment: Moment) -> tuple[object, ...]:
    return moment.kind, moment.scaled, len(moment.parameters)


def _told(moments: Iterable[Moment]) -> str:
    return " ".join(moment.kind.value for moment in moments)[:120]
