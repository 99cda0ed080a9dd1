"""Two ways to ask what the audit costs: its own hands on a clock, and the same loop with and without it, in turns."""

import contextlib
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import zerograd
from zerograd.run.clears import Clears
from zerograd.run.watcher import Watcher

# Every way by which torch calls us. What stands around them (a proxy, two wrappers) only the pairs can see.
DOORS = [
    (Watcher, "before_backward"),
    (Watcher, "after_backward"),
    (Watcher, "before_step"),
    (Watcher, "after_step"),
    (Clears, "begins"),
    (Clears, "ended"),
    (Clears, "clipped"),
]


# The first step opens the books, the second walks the graph, the next ones take samples; then the loop proves that it
# does the same over and over. Nobody waits for those.
_SETTLED = 32


class Spent:
    def __init__(self) -> None:
        self.seconds = 0.0


@contextlib.contextmanager
def clocked() -> Iterator[Spent]:
    """Add up the time inside the doors."""
    spent, real = Spent(), [(owner, name, getattr(owner, name)) for owner, name in DOORS]

    def timed(door: Callable[..., Any]) -> Callable[..., Any]:
        def through(*args: Any, **kwargs: Any) -> Any:
            begun = time.thread_time()
            try:
                return door(*args, **kwargs)
            finally:
                spent.seconds += time.thread_time() - begun

        return through

    for owner, name, door in real:
        setattr(owner, name, timed(door))
    try:
        yield spent
    finally:
        for owner, name, door in real:
            setattr(owner, name, door)


class Share(NamedTuple):
    """Seconds of one step, medians over single steps; and what the sums say, for what is not done in every step."""

    inside: float  # the audit
    whole: float
    mean: float  # all seconds inside / all seconds
    average: float  # seconds inside for each step


def self_timed(step: Callable[[], None], *, steps: int, wait: Callable[[], None], **audit: Any) -> Share:
    """What of a step is spent inside the audit.

    Seconds of this thread, which does all the work: so a machine that others use as well gives the same answer.
    """
    inside, whole = [], []
    with clocked() as spent, zerograd.audit(on_finding="raise", **audit):
        for _ in range(_SETTLED):
            step()
        for _ in range(steps):
            wait()
            spent.seconds, begun = 0.0, time.thread_time()
            step()
            wait()
            whole.append(time.thread_time() - begun)
            inside.append(spent.seconds)
    return Share(median(inside), median(whole), sum(inside) / sum(whole), sum(inside) / len(inside))


def paired(
    step: Callable[[], None], *, pairs: int, block: int, wait: Callable[[], None],
    clock: Callable[[], float] = time.perf_counter, **audit: Any,
) -> tuple[float, float]:  # fmt: skip
    """The median of audited / plain over neighbouring blocks of steps, and the median step without the audit."""

    def timed() -> float:
        wait()
        begun = clock()
        for _ in range(block):
            step()
        wait()
        return (clock() - begun) / block

    ratios, plain_steps = [], []
    for turn in range(pairs):
        plain = timed() if turn % 2 else None
        with zerograd.audit(on_finding="raise", **audit):
            for _ in range(_SETTLED):
                step()
            audited = timed()
        plain = timed() if plain is None else plain
        ratios.append(audited / plain)
        plain_steps.append(plain)
    return median(ratios), median(plain_steps)
