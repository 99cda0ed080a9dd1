"""What the audit costs on a CPU, at 150, 1,000 and 3,000 parameter tensors.

    python benchmarks/audit/overhead.py [--pairs 8]

The step is that of loops.py: clear, forward, cross-entropy, backward, clip, AdamW, on one thread. Width, batch and
length shrink as the model deepens, so that the largest still fits into a minute; that makes the steps shorter than
those of real models with as many tensors, and the shares larger.
"""

import argparse
import time

import torch
from loops import Loop
from timing import paired, self_timed

SIZES = {  # tensors: width, batch, length, steps
    150: (128, 4, 64, 20),
    1000: (64, 2, 64, 12),
    3000: (64, 2, 32, 8),
}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--pairs", type=int, default=8)
    pairs = options.parse_args().pairs
    torch.set_num_threads(1)
    print("tensors  mode  step ms  inside us  inside %  paired %")
    for tensors, (width, batch, length, steps) in SIZES.items():
        for mode in ("lean", "full"):
            loop = Loop(tensors=tensors, width=width, batch=batch, length=length)
            for _ in range(2):
                loop.step()
            inside, whole = self_timed(loop.step, steps=steps + 9, wait=lambda: None, mode=mode)
            ratio, _ = paired(
                loop.step, pairs=pairs, block=max(2, steps // 2), wait=lambda: None, clock=time.thread_time, mode=mode
            )
            share, extra = 100 * inside / whole, 100 * (ratio - 1)
            print(
                f"{loop.tensors:7}  {mode}  {whole * 1e3:7.1f}  {inside * 1e6:9.0f}  {share:8.2f}  {extra:8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
