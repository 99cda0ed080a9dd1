"""Bytes, messages and time of a step across ranks, counted: python benchmarks/scale/count.py [--time]

Payload is counted where it is handed to torch.distributed; what the kernel has sent is read from TCP_INFO of every
socket of the process, so that nothing is overlooked. `--time` compares Step with plain DDP under no_sync, interleaved.
"""

import argparse
import datetime
import json
import os
import socket
import statistics
import struct
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel as DDP

from zerograd import Step
from zerograd.engine.ranks import reducing, voting

MICRO = 4


def sent() -> int:
    """Bytes this process has sent over TCP so far."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            one = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        try:
            info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            total += struct.unpack_from("Q", info, 200)[0] if len(info) >= 208 else 0
        except OSError:
            pass
        finally:
            one.close()
    return total


class Counter:
    """Payload of votes and of reductions."""

    def __init__(self) -> None:
        self.votes = self.vote_bytes = self.reductions = self.reduced_bytes = 0
        count, average = voting.Voters.count, reducing.Flat.average

        def counted(voters, vote):
            self.votes += 1
            self.vote_bytes += 8 * len(vote.numbers())
            return count(voters, vote)

        def averaged(flat, group):
            self.reductions += 1
            self.reduced_bytes += flat.nbytes
            return average(flat, group)

        voting.Voters.count, reducing.Flat.average = counted, averaged

    def hook(self, state, bucket):
        self.reductions += bucket.is_last()
        self.reduced_bytes += bucket.buffer().nbytes
        return allreduce_hook(None, bucket)


def model(width: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def count(rank: int, ranks: int, folder: str) -> None:
    _join(rank, ranks, folder)
    counter = Counter()
    found = []
    for sync in ("overlap", "commit", "each"):
        ddp = DDP(model(128))
        if sync != "commit":
            ddp.register_comm_hook(None, counter.hook)
        step = Step(torch.optim.SGD(ddp.parameters(), lr=0.01), sync=sync)
        batches = [torch.randn(4, 128) for _ in range(MICRO)]

        def one_step(step=step, ddp=ddp, batches=batches) -> None:
            with step:
                for batch in step.micro_batches(batches, weight=len):
                    step.backward(ddp(batch).square().mean())

        for _ in range(3):
            one_step()
        before, begun = dict(vars(counter)), sent()
        for _ in range(10):
            one_step()
        after = vars(counter)
        per_step = {name: (after[name] - before[name]) / 10 for name in before}
        size = sum(parameter.nbytes for parameter in ddp.parameters())
        found.append(
            {"sync": sync, "ranks": ranks, "parameter bytes": size, **per_step, "on the wire": (sent() - begun) / 10}
        )
    voters = voting.Voters(range(ranks), datetime.timedelta(seconds=60))
    times, begun = [], sent()
    for _ in range(200):
        asked = time.perf_counter()
        voters.count(voting.Vote(shares=(voting.Share(),)))
        times.append(time.perf_counter() - asked)
    told = {"a vote, median us": round(statistics.median(times) * 1e6), "least": round(min(times) * 1e6)}
    found.append({"ranks": ranks, **told, "on the wire": (sent() - begun) / 200})
    if not rank:
        for line in found:
            print(json.dumps(line), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def compare(rank: int, ranks: int, folder: str, width: int, rows: int, turns: int) -> None:
    """Each way takes a step in turn, so that whatever else the machine does, it does to both."""
    _join(rank, ranks, folder)
    batches = [torch.randn(rows, width) for _ in range(MICRO)]
    plain, ours = DDP(model(width)), DDP(model(width))
    optimizer = torch.optim.SGD(plain.parameters(), lr=1e-4)
    step = Step(torch.optim.SGD(ours.parameters(), lr=1e-4), sync="overlap", nonfinite="ignore")

    def by_hand() -> None:
        optimizer.zero_grad()
        with plain.no_sync():
            for batch in batches[:-1]:
                (plain(batch).square().mean() / MICRO).backward()
        (plain(batches[-1]).square().mean() / MICRO).backward()
        optimizer.step()

    def by_step() -> None:
        with step:
            for batch in step.micro_batches(batches):
                step.backward(ours(batch).square().mean())

    spent: dict[str, list[float]] = {"wall": [], "cpu": [], "ms": []}
    for turn in range(turns + 3):
        took = {}
        ways = [("plain", by_hand), ("step", by_step)]
        for name, way in ways if turn % 2 else reversed(ways):
            dist.barrier()
            wall, cpu = time.perf_counter(), time.process_time()
            way()
            took[name] = (time.perf_counter() - wall, time.process_time() - cpu)
        if turn >= 3:
            spent["wall"].append(took["step"][0] / took["plain"][0])
            spent["cpu"].append(took["step"][1] / took["plain"][1])
            spent["ms"].append(1e3 * took["plain"][1])
    if not rank:
        medians = {name: round(statistics.median(values), 4) for name, values in spent.items()}
        told = {"ranks": ranks, "width": width, "rows": rows, "turns": turns, "CPU ms of plain": medians.pop("ms")}
        print(json.dumps({**told, "step / plain": medians}))
    dist.barrier()
    dist.destroy_process_group()


def _join(rank: int, ranks: int, folder: str) -> None:
    torch.set_num_threads(1)
    limit = datetime.timedelta(seconds=120)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks, timeout=limit)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--time", action="store_true")
    options.add_argument("--turns", type=int, default=100)
    options.add_argument("--rows", type=int, default=1024)
    given = options.parse_args()
    if given.time:
        mp.spawn(compare, args=(2, tempfile.mkdtemp(), 512, given.rows, given.turns), nprocs=2)
    else:
        for ranks in (2, 4, 8):
            mp.spawn(count, args=(ranks, tempfile.mkdtemp()), nprocs=ranks)
