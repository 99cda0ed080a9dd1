"""Traces as runs write them, without a run."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from zerograd.core.events import Event, Kind, Site
from zerograd.core.findings import Certainty, Finding, Related, Severity
from zerograd.trace.findings import to_line
from zerograd.trace.lines import TraceWriter

SLOT = "SGD#0"
BACKWARD = Event(Kind.DEPOSIT, SLOT, Site("train.py", 5), what="backward()", numbers=(("loss", 2.0), ("took", 0.25)))
CLIP = Event(Kind.CLIP, SLOT, Site("train.py", 6), what="clip_grad_norm_()", numbers=(("norm", 4.0), ("limit", 1.0)))
STEP = Event(Kind.CONSUME, SLOT, Site("train.py", 7), what="SGD.step()", numbers=(("took", 0.125),))
SKIP = STEP._replace(scaled=True, numbers=(("skipped", 1.0), ("scale", 1024.0)))
CLEAR = Event(Kind.CLEAR, SLOT, Site("train.py", 4), what="zero_grad()")
STALE = Finding(
    "ZG001",
    "stale-accumulation",
    "SGD.step() uses old gradients",
    STEP.site or Site("", 0),
    Certainty.CERTAIN,
    Severity.ERROR,
    (Related(Site("train.py", 5), "adds to them"),),
    "call SGD.zero_grad() right after SGD.step()",
)
GOOD = [CLEAR, BACKWARD, CLIP, STEP]
BAD = [BACKWARD, CLIP, STEP]
GROUPS = [["0.weight", "0.bias"], ["head.weight", "head.bias"]]


def trace(
    path: Path,
    events: Iterable[Event | tuple[Event, int]],
    *,
    found: Sequence[tuple[Finding, Sequence[int]]] = (),
    groups: Sequence[Sequence[str]] = GROUPS,
    sets: Sequence[Sequence[int]] = (),
    slot: str = SLOT,
    called: str = "",
    **about: object,
) -> Path:
    """`found`: findings, each with the numbers of its events. An event may come with the set of parameters it hit."""
    writer = TraceWriter(path, about={"findings": True, "script": "train.py", "folder": str(path.parent), **about})
    writer.note({"optimizer": slot, "groups": groups, **({"called": called} if called else {})})
    for number, members in enumerate(sets):
        writer.note({"set": number, "slots": members})
    for event in events:
        writer(*event) if isinstance(event, tuple) and not isinstance(event, Event) else writer(event)  # type: ignore[arg-type]
    for number, (finding, at) in enumerate(found):
        for first, event in enumerate(at):
            told = {"slot": slot, **to_line(finding)} if not first else {}
            writer.note({"finding": number, "event": event, **told})
    writer.close()
    return path


def stale(path: Path, steps: int = 20, *, called: str = "", **about: object) -> Path:
    """A loop that never clears: every step but the first is a finding."""
    return trace(path, BAD * steps, found=[(STALE, range(5, 3 * steps, 3))], called=called, **about)
