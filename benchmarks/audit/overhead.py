"""What the audit costs on a CPU, at 150, 1,000 and 3,000 parameter tensors.

    python benchmarks/audit/overhead.py [--pairs 8] [--only 1000]

The step is that of loops.py: clear, forward, cross-entropy, backward, clip, AdamW, on one thread. Width, batch and
length shrink as the model deepens, so that the largest still fits into a minute; that makes the steps shorter than
those of real models with as many tensors, and the shares larger.
"""

import argparse
import tempfile
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
    options.add_argument("--pairs", type=int, default=8, help="of blocks with and without the audit; 0: none")
    options.add_argument("--only", type=int, choices=SIZES, help="one of the sizes")
    chosen = options.parse_args()
    torch.set_num_threads(1)
    print("tensors  mode  trace  step ms  inside us  inside %  mean %  paired %")
    for tensors in [chosen.only] if chosen.only else SIZES:
        for mode in ("lean", "full"):
            for traced in (False, True):
                with tempfile.TemporaryDirectory() as folder:
                    measure(tensors, mode, trace=f"{folder}/trace.jsonl" if traced else None, pairs=chosen.pairs)


def measure(tensors: int, mode: str, *, trace: str | None, pairs: int) -> None:
    width, batch, length, steps = SIZES[tensors]
    loop = Loop(tensors=tensors, width=width, batch=batch, length=length)
    for _ in range(2):
        loop.step()
    spent = self_timed(loop.step, steps=steps + 9, wait=lambda: None, mode=mode, trace=trace)
    told = f"{loop.tensors:7}  {mode}  {'yes' if trace else 'no':5}  {spent.whole * 1e3:7.1f}"
    told += f"  {spent.inside * 1e6:9.0f}  {100 * spent.inside / spent.whole:8.2f}  {100 * spent.mean:6.2f}"
    if pairs:
        block = max(2, steps // 2)
        ratio, _ = paired(
            loop.step, pairs=pairs, block=block, wait=lambda: None, clock=time.thread_time, mode=mode, trace=trace
        )
        told += f"  {100 * (ratio - 1):8.2f}"
    print(told, flush=True)


if __name__ == "__main__":
    main()
