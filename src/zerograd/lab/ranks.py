"""Loops on two processes: a pair of ranks over gloo that is started once and given one loop after another."""

import atexit
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import multiprocessing, nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from zerograd.core.findings import Finding
from zerograd.errors import StepError
from zerograd.lab.loop import Loop, Played, Scene, weights

_PATIENCE = timedelta(seconds=60)
_seconds: dict[int, float] = {}


class _Answer(NamedTuple):
    """What one rank tells of a loop: plain data, so that any pipe carries it."""

    weights: list[float]
    findings: tuple[Finding, ...]
    error: tuple[str, str, str] | None  # its kind, what it says, its slug
    exchanged: int  # bytes that this rank gave to all-reduce
    exchanges: int
    seconds: float


def on_two_ranks(loop: Loop, scene: Scene, audited: bool) -> Played:
    """The loop on both ranks; weights of rank 0, findings of both; `names` also has `exchanged` and `apart`."""
    first, second = _pair()(loop, scene, audited)
    error: Exception | None = None
    if first.error:
        kind, what, slug = first.error
        error = StepError(what, slug=slug) if slug else RuntimeError(f"{kind}: {what}")
    both = [torch.tensor(answer.weights, dtype=torch.float64) for answer in (first, second)]
    names = {
        "model": nn.ParameterList([both[0]]),
        "exchanged": first.exchanged,
        "exchanges": first.exchanges,
        "apart": float((both[0] - both[1]).norm() / both[0].norm()),
    }
    return Played(names, error, (*first.findings, *second.findings))


def spent() -> float:
    """Seconds of CPU that the ranks have used so far."""
    return sum(_seconds.values())


@cache
def _pair() -> Callable[[Loop, Scene, bool], list[_Answer]]:
    folder = tempfile.TemporaryDirectory()
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(2)]
    for rank, (_, theirs) in enumerate(pipes):
        context.Process(target=_serve, args=(rank, theirs, f"{folder.name}/meet"), daemon=True).start()

    def close() -> None:
        for ours, _ in pipes:
            with suppress(OSError):
                ours.send(None)
        folder.cleanup()

    atexit.register(close)

    def ask(loop: Loop, scene: Scene, audited: bool) -> list[_Answer]:
        for ours, _ in pipes:
            ours.send((loop, scene, audited))
        answers: list[_Answer] = [ours.recv() for ours, _ in pipes]
        _seconds.update(enumerate(answer.seconds for answer in answers))
        return answers

    return ask


def _serve(rank: int, pipe: Connection, meet: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meet}", rank=rank, world_size=2, timeout=_PATIENCE)
    while (task := pipe.recv()) is not None:
        loop, scene, audited = task
        with _counted() as sizes:
            names = scene()
            played = loop.play(names, audited=audited)
        found = played.error
        error = (type(found).__name__, str(found).partition("\n")[0], getattr(found, "slug", "")) if found else None
        numbers = weights(names["model"]).tolist()
        pipe.send(_Answer(numbers, played.findings, error, sum(sizes), len(sizes), time.process_time()))
    dist.destroy_process_group()


@contextmanager
def _counted() -> Any:
    """Every bucket that DistributedDataParallel exchanges meanwhile, in bytes."""
    sizes: list[int] = []
    begin = DistributedDataParallel.__init__

    def hook(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:  # type: ignore[name-defined]
        sizes.append(bucket.buffer().nbytes)
        return allreduce_hook(None, bucket)  # type: ignore[arg-type]

    def init(self: DistributedDataParallel, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        self.register_comm_hook(None, hook)

    DistributedDataParallel.__init__ = init  # type: ignore[method-assign]
    try:
        yield sizes
    finally:
        DistributedDataParallel.__init__ = begin  # type: ignore[method-assign]
