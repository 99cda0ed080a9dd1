"""Short runs of two ranks that are killed, stopped, slowed and poisoned at random, and started again as torchrun would.

One process imports torch and forks every rank of every run from itself: a start takes no seconds. After each death all
numbered checkpoints must be whole; when the run is through, its weights must be those of a run that nobody disturbed.

    python tests/laws/campaign.py FOLDER EVENTS SEED      prints one JSON object
"""

import datetime
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from zerograd import Checkpoints, Cursor, Step, groups
from zerograd.engine.checkpoint import folder as store
from zerograd.engine.checkpoint.stopping import STOPPED

RANKS = 2
STEPS = 8
LIMIT = 300.0  # seconds for one start of a run: who is still there then, hangs
KINDS = ("kill", "term", "pause", "exception", "memory", "nan", "kill while saving")
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "pause": signal.SIGSTOP}
DATA = TensorDataset(torch.randn(64, 8, generator=torch.Generator().manual_seed(3)))


class Fault:
    """What shall happen to one rank, once: inside at a micro-batch, or by a signal from outside soon after one."""

    def __init__(self, chance: random.Random) -> None:
        self.kind = chance.choice(KINDS)
        self.rank = chance.randrange(RANKS)
        self.micro = chance.randrange(STEPS * 2)
        self.delay = chance.uniform(0.0, 0.2)
        self.sync = chance.randrange(1, 40)


def train(rank: int, folder: Path, fault: Fault | None) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meeting",
        rank=rank,
        world_size=RANKS,
        timeout=datetime.timedelta(seconds=60),
    )
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
    model = DDP(net)
    torch.manual_seed(10 + rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    step = Step(optimizer, clip=1.0, scheduler=schedule, nonfinite="raise", restore=("rng", "buffers"), model=model)
    sampler = DistributedSampler(DATA, num_replicas=RANKS, rank=rank, seed=1)
    cursor = Cursor(DataLoader(DATA, batch_size=4, sampler=sampler))
    saved = Checkpoints(folder / "saved", step, model=model, loader=cursor, every=2, keep=2)
    saved.resume()
    if fault is not None and fault.kind == "kill while saving":
        _kill_at_sync(fault.sync)
    count = 0
    beat = os.open(folder / f"beat{rank}", os.O_CREAT | os.O_WRONLY)
    while step.committed < STEPS:
        for group in groups(cursor, 3, begun=step.in_flight):
            with step:
                for (batch,) in step.micro_batches(group, weight=lambda item: len(item[0])):
                    loss = model(batch).square().mean()
                    if fault is not None and count == fault.micro:
                        loss = _disturbed(fault.kind, loss)
                    count += 1
                    os.pwrite(beat, b"%4d" % count, 0)
                    step.backward(loss)
            saved.keep_up()
            if step.committed == STEPS:
                break
    saved.save()
    values = b"".join(value.detach().numpy().tobytes() for value in model.state_dict().values())
    (folder / f"weights{rank}").write_text(hashlib.sha256(values).hexdigest())


def _disturbed(kind: str, loss: torch.Tensor) -> torch.Tensor:
    if kind == "exception":
        raise ValueError("injected")
    if kind == "memory":
        raise torch.OutOfMemoryError("injected")
    return loss * float("nan") if kind == "nan" else loss


def _kill_at_sync(number: int) -> None:
    """The process dies just before some file, or folder, is brought to the disk or renamed."""
    left = [number]

    def counted(function):
        def call(*args, **kwargs):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return call

    for name in ("fsync", "rename", "mkdir", "rmdir", "unlink"):
        setattr(os, name, counted(getattr(os, name)))


def start(folder: Path, fault: Fault | None) -> list[int]:
    """One rank each; their processes."""
    for name in ("meeting", *(f"beat{rank}" for rank in range(RANKS))):
        (folder / name).unlink(missing_ok=True)
    started = []
    for rank in range(RANKS):
        child = os.fork()
        if not child:
            _child(rank, folder, fault if fault is not None and fault.rank == rank else None)
        started.append(child)
    return started


def _child(rank: int, folder: Path, fault: Fault | None) -> None:
    status = 1
    try:
        with (folder / f"said{rank}").open("w") as said:
            os.dup2(said.fileno(), 2)
            warnings.simplefilter("ignore")
            train(rank, folder, fault)
        status = 0
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _micro_batches(folder: Path, rank: int) -> int:
    """How many the rank has begun in this life."""
    beat = folder / f"beat{rank}"
    return int(beat.read_bytes() or 0) if beat.exists() else 0


def attend(folder: Path, processes: list[int], fault: Fault | None) -> tuple[list[int | None], bool]:
    """How each has ended: its status, minus the signal, or None if it had to be ended. One failure ends all.

    And whether the fault has struck: a run may be over before its time.
    """
    ended: dict[int, int] = {}
    begun, reached, told, failed_at, paused = time.monotonic(), 0.0, False, 0.0, 0.0
    while len(ended) < len(processes) and time.monotonic() - begun < LIMIT:
        for process in processes:
            if process not in ended:
                done, status = os.waitpid(process, os.WNOHANG)
                if done:
                    ended[process] = os.waitstatus_to_exitcode(status)
        now = time.monotonic()
        number = SIGNALS.get(fault.kind) if fault is not None else None
        if fault is not None and number is not None and not told and processes[fault.rank] not in ended:
            if not reached and _micro_batches(folder, fault.rank) > fault.micro:
                reached = now
            if reached and now - reached >= fault.delay:
                told = True
                os.kill(processes[fault.rank], number)
                paused = now if number == signal.SIGSTOP else 0.0
        if paused and now - paused > 0.5:
            os.kill(processes[fault.rank], signal.SIGCONT)
            paused = 0.0
        if not failed_at and any(ended.values()):
            failed_at = now
            for process in processes:
                if process not in ended:
                    os.kill(process, signal.SIGTERM)
        if len(ended) < len(processes):
            signal.sigtimedwait({signal.SIGCHLD}, 0.02)  # until one ends, or it is time for the fault
    for process in processes:
        if process not in ended:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    return [ended.get(process) for process in processes], told or any(ended.values())


def disturbed_run(folder: Path, chance: random.Random, events: int, found: dict) -> None:
    """A run that meets so many faults, one in each of its lives, and is started until it is through."""
    faults: list[Fault | None] = [Fault(chance) for _ in range(events)]
    for life in range(events + 6):
        fault = faults[life] if life < events else None
        ended, struck = attend(folder, start(folder, fault), fault)
        if fault is not None and struck:
            found["events"][fault.kind] = found["events"].get(fault.kind, 0) + 1
            found["stopped"] += STOPPED in ended
        if None in ended:
            found["hung"].append([fault.kind if fault else "", ended, (folder / "said0").read_text()[-800:]])
        saved = folder / "saved"
        for name in store.Folder(saved, keep=2).names():
            if why := store.damage(saved / name):
                found["unreadable"].append(why)
        if ended == [0] * RANKS:
            return
    found["unfinished"].append([ended, (folder / "said0").read_text()[-1500:], (folder / "said1").read_text()[-1500:]])


def main(folder: Path, events: int, seed: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    chance = random.Random(seed)
    found: dict = {
        "events": {}, "stopped": 0, "runs": 0, "equal": 0, "hung": [], "unreadable": [], "unfinished": [], "seed": seed,
    }  # fmt: skip
    quiet = folder / "undisturbed"
    quiet.mkdir(parents=True)
    begun = time.monotonic()
    assert attend(quiet, start(quiet, None), None)[0] == [0] * RANKS, (quiet / "said0").read_text()
    seconds = time.monotonic() - begun
    want = [(quiet / f"weights{rank}").read_text() for rank in range(RANKS)]
    while sum(found["events"].values()) < events:
        run = folder / "disturbed"
        shutil.rmtree(run, ignore_errors=True)
        run.mkdir()
        disturbed_run(run, chance, min(chance.randint(1, 4), events - sum(found["events"].values())), found)
        found["runs"] += 1
        got = [path.read_text() for rank in range(RANKS) if (path := run / f"weights{rank}").exists()]
        found["equal"] += got == want
        print(json.dumps(found), file=sys.stderr, flush=True)  # so far
    found["seconds of an undisturbed run"] = round(seconds, 1)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
