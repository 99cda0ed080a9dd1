"""What the audit adds to a step of about a millisecond, as reinforcement learning has them: python small.py

Plain and audited in turns of 200 steps, CPU time of the process, medians.
"""

import statistics
import time

import torch
from torch import nn

import zerograd

TURNS, STEPS, SETTLED = 12, 200, 40


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.ReLU())])
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn(64, 64), torch.randn(64, 64)

    def steps(count: int) -> float:
        """CPU time of one step, in microseconds."""
        begun = time.process_time()
        for _ in range(count):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        return (time.process_time() - begun) / count * 1e6

    steps(SETTLED)
    plain, audited = [], []
    for _ in range(TURNS):
        plain.append(steps(STEPS))
        with zerograd.audit(on_finding="collect"):
            steps(SETTLED)  # until it has seen that the loop does the same over and over
            audited.append(steps(STEPS))
    added = statistics.median(with_it - without for without, with_it in zip(plain, audited, strict=True))
    print(f"plain {statistics.median(plain):.0f} us, audited {statistics.median(audited):.0f} us, added {added:.0f} us")


if __name__ == "__main__":
    main()
