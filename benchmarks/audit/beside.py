"""Two versions of zerograd, side by side: what the audit costs in each.

    git worktree add ../before c9e7fb4
    python benchmarks/audit/beside.py ../before/src src

Each version runs in a process of its own. They take turns of a few steps, so that a machine which gets slower for a
while gets slower for both. Told are, of each version, the microseconds of one step inside the audit and of the whole
step (CPU time of the thread, medians over the rounds); then the medians of second over first within a round, of the
time inside and of the whole step, and between which bounds half of the rounds lie.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

TURN, SETTLED = 10, 40
KINDS = ("lean", "full", "lean small", "full small")


def work(kind: str) -> None:
    """A turn for each line that is read; the medians of its steps are printed: inside, whole."""
    import torch
    from loops import Loop
    from timing import clocked

    import zerograd

    torch.set_num_threads(1)
    mode, _, small = kind.partition(" ")
    loop = Loop(tensors=150, width=16, batch=2, length=8) if small else Loop(tensors=150, width=128, batch=4, length=64)
    with contextlib.ExitStack() as stack:
        spent = stack.enter_context(clocked())
        stack.enter_context(zerograd.audit(on_finding="raise", mode=mode))
        for _ in range(SETTLED):
            loop.step()
        for _ in sys.stdin:
            inside, whole = [], []
            for _ in range(TURN):
                spent.seconds, begun = 0.0, time.thread_time()
                loop.step()
                whole.append(time.thread_time() - begun)
                inside.append(spent.seconds)
            print(json.dumps([statistics.median(inside), statistics.median(whole)]), flush=True)


def compare(kind: str, paths: list[str], rounds: int) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--work", kind],
            env={**os.environ, "PYTHONPATH": os.path.abspath(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for path in paths
    ]
    times: list[list[list[float]]] = []
    for number in range(rounds + 2):
        row: list[list[float]] = [[], []]
        for place in (0, 1) if number % 2 else (1, 0):
            worker = workers[place]
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
            row[place] = json.loads(worker.stdout.readline())
        if number >= 2:
            times.append(row)
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.wait()
    told = f"{kind:11}"
    for place in (0, 1):
        inside, whole = (statistics.median(row[place][part] for row in times) * 1e6 for part in (0, 1))
        told += f"  {inside:7.0f} of {whole:7.0f}"
    for part in (0, 1):
        low, middle, high = statistics.quantiles([row[1][part] / row[0][part] for row in times], n=4)
        told += f"  {middle:5.3f} ({low:.3f} to {high:.3f})"
    print(told, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--work")
    given = parser.parse_args()
    if given.work:
        work(given.work)
        return
    print(f"{'':11}  {'first, us':>18}  {'second, us':>18}  {'inside':22}  whole step")
    for kind in given.kinds:
        compare(kind, given.paths, given.rounds)


if __name__ == "__main__":
    main()
