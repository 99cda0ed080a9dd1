"""Two processes that train together over gloo, and what each of them printed."""

import os
import subprocess
import sys
from pathlib import Path

PREAMBLE = """
import os, warnings
import torch
import torch.distributed as dist
from contextlib import nullcontext
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
import zerograd

warnings.simplefilter("ignore")
torch.set_num_threads(1)
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="file://" + os.environ["MEETING"], rank=rank, world_size=2)


def weights(model):
    return [p.detach().full_tensor() if hasattr(p, "full_tensor") else p.detach() for p in model.parameters()]
"""
PATIENCE = 900  # seconds: a hang is a failure, a machine that does much else is none
# Not through Python's own end: there gloo's threads now and then abort the process (docs/limits.md).
GOODBYE = "\ndist.destroy_process_group()\nimport sys\nsys.stdout.flush()\nos._exit(0)\n"


def on_two_ranks(program: str, folder: Path) -> list[str]:
    """What each rank printed, once both have ended well."""
    # The folder of the tests is of no use to them, but zerograd must be found.
    inherited = {**os.environ, "WORLD_SIZE": "2", "MEETING": str(folder / "meeting"), "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + program + GOODBYE],
            env={**inherited, "RANK": str(rank)},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    told = [process.communicate(timeout=PATIENCE) for process in started]
    assert [process.returncode for process in started] == [0, 0], told
    return [out for out, _ in told]
