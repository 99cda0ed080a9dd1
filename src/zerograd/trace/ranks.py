"""The traces of several ranks beside each other: replicas that consumed different things are replicas no more (ZG502).

In full mode a step over all parameters of a DistributedDataParallel writes the norm of what it consumed. Gradients that
were averaged are the same on every rank, so their norms are; the first step at which they are not is where the replicas
drifted apart.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zerograd.core.events import Event, Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import NOWHERE, note
from zerograd.trace.lines import read_trace

CONSUMED = "consumed"  # the number on a CONSUME that all ranks must have alike
_RANK = re.compile(r"rank(\d+)")
_ALIKE = 1e-5  # norms of equal gradients, summed up in another order


def read_ranks(paths: Iterable[str | Path]) -> dict[int, list[Event]]:
    """Each rank's events, by the rank that the name of its file tells: run.rank1.jsonl, rank1-4711.jsonl."""
    found: dict[int, list[Event]] = {}
    for path in sorted(map(Path, paths)):
        told = _RANK.search(path.name)
        found.setdefault(int(told.group(1)) if told else 0, []).extend(read_trace(path))
    return found


def disagreements(traces: Mapping[int, Sequence[Event]]) -> list[Finding]:
    """For each optimizer the first step at which the ranks consumed different gradients."""
    steps = {rank: _steps(events) for rank, events in traces.items()}
    slots = sorted(set().union(*steps.values())) if steps else []
    of_each = [(slot, {rank: of[slot] for rank, of in steps.items() if slot in of}) for slot in slots]
    return [finding for slot, of_ranks in of_each if (finding := _first(slot, of_ranks)) is not None]


def _first(slot: str, steps: Mapping[int, Sequence[Event]]) -> Finding | None:
    ranks = sorted(steps)
    for number, events in enumerate(zip(*(steps[rank] for rank in ranks), strict=False), start=1):
        norms = [dict(event.numbers)[CONSUMED] for event in events]
        for rank, norm in zip(ranks[1:], norms[1:], strict=True):
            if not _alike(norms[0], norm):
                said = f"step {number} of {slot} used other gradients on rank {rank} than on rank {ranks[0]}"
                site = events[0].site or NOWHERE
                beside = Related(site, f"gradient norm {norms[0]:g} on rank {ranks[0]}, {norm:g} on rank {rank}")
                rule = REGISTRY["ZG502"]._replace(message=said)
                return note(rule, site, certain=True, related=(beside,))
    return None


def _steps(events: Iterable[Event]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for event in events:
        if event.kind is Kind.CONSUME and event.slot is not None and CONSUMED in dict(event.numbers):
            found.setdefault(event.slot, []).append(event)
    return found


def _alike(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=_ALIKE)
