"""What the audit adds to steps of a millisecond and less, as reinforcement learning has them: python small.py

Plain and audited in turns of some steps, CPU time of the thread: the medians of single steps within a turn, of both in
the same round, and of their ratio over the rounds.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

import zerograd

STEPS, SETTLED = 60, 45  # until it has seen that the loop does the same over and over


def loop_of(width: int, batch: int, layers: int) -> Callable[[], None]:
    torch.manual_seed(0)
    model = nn.Sequential(*[layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())])
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn(batch, width), torch.randn(batch, width)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step


def turn(step: Callable[[], None]) -> float:
    """Microseconds of one step."""
    times = []
    for _ in range(STEPS):
        begun = time.thread_time()
        step()
        times.append(time.thread_time() - begun)
    return statistics.median(times) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    for name, step in {"3 layers": loop_of(96, 32, 3), "6 layers": loop_of(64, 64, 6)}.items():
        for mode in ("lean", "full"):
            plain, audited = [], []
            for _ in range(rounds):
                plain.append(turn(step))
                with zerograd.audit(on_finding="collect", mode=mode):
                    for _ in range(SETTLED):
                        step()
                    audited.append(turn(step))
            ratio = statistics.median(with_it / without for without, with_it in zip(plain, audited, strict=True))
            added = statistics.median(with_it - without for without, with_it in zip(plain, audited, strict=True))
            print(f"{name}, {mode}: plain {statistics.median(plain):.0f} us, added {added:.0f} us, {ratio:.3f} times")


if __name__ == "__main__":
    main()
