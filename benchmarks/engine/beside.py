"""Two versions of zerograd, side by side: what a Step costs in each.

    git worktree add ../before c9e7fb4
    python benchmarks/engine/beside.py ../before/src src

Each version runs in a process of its own, and so does the loop by hand; they take turns of some steps, in the main
thread, one at a time: a machine that gets slower for a while gets slower for all. Told are medians over the rounds: of
each version's time per step over that of the loop by hand in the same round, and of the second over the first.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

TURN, WARM = 40, 5
KINDS = ("mlp", "tensors", "clipped", "scaled", "accumulated", "fused")


def work(kind: str, by_hand: bool) -> None:
    """A turn for each line that is read; its median seconds per step are printed."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    many = [layer for _ in range(75) for layer in (nn.Linear(10, 10),)]
    few = [nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
    net = nn.Sequential(*(many if kind == "tensors" else few))
    x, y = torch.randn(8, net[0].in_features), torch.randint(10, (8,))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=kind == "fused")
    scaler = torch.amp.GradScaler("cpu", enabled=kind == "scaled")
    clip = 1.0 if kind in ("clipped", "scaled", "fused") else None
    parts = [(x[:4], y[:4]), (x[4:], y[4:])]
    loss = lambda a, b: nn.functional.cross_entropy(net(a), b)

    def hand() -> None:
        optimizer.zero_grad()
        if kind == "accumulated":
            for a, b in parts:
                (loss(a, b) / 2).backward()
        else:
            scaler.scale(loss(x, y)).backward()
        if clip is not None:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()

    def ours() -> None:
        with step:
            if kind == "accumulated":
                for a, b in step.micro_batches(parts):
                    step.backward(loss(a, b))
            else:
                step.backward(loss(x, y))

    if not by_hand:
        from zerograd import Step

        step = Step(optimizer, clip=clip, scaler=scaler if kind == "scaled" else None)
    one = hand if by_hand else ours
    for _ in sys.stdin:
        times = []
        for _ in range(TURN):
            begun = time.perf_counter()
            one()
            times.append(time.perf_counter() - begun)
        print(json.dumps(statistics.median(times[WARM:])), flush=True)


def compare(kind: str, paths: list[str], rounds: int) -> list[float]:
    workers = []
    for path, by_hand in ((paths[0], True), *((path, False) for path in paths)):
        command = [sys.executable, __file__, "--work", kind, *(["--by-hand"] if by_hand else [])]
        environment = {**os.environ, "PYTHONPATH": os.path.abspath(path)}
        workers.append(
            subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
    ratios: list[list[float]] = []
    for number in range(rounds + 2):
        turns = list(range(len(workers)))
        times = [0.0] * len(workers)
        for place in turns if number % 2 else turns[::-1]:
            worker = workers[place]
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
            times[place] = float(worker.stdout.readline())
        if number >= 2:
            ratios.append([times[1] / times[0], times[2] / times[0], times[2] / times[1]])
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait()
    return [statistics.median(column) for column in zip(*ratios, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--work")
    parser.add_argument("--by-hand", action="store_true")
    given = parser.parse_args()
    if given.work:
        work(given.work, given.by_hand)
        return
    print(f"{'':12}  first  second  second over first")
    for kind in given.kinds:
        first, second, ratio = compare(kind, given.paths, given.rounds)
        print(f"{kind:12}  {first:5.3f}  {second:6.3f}  {ratio:5.3f}", flush=True)


if __name__ == "__main__":
    main()
