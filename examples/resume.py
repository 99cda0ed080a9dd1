"""Killed, and gone on: torchrun --standalone --nproc-per-node 2 --max-restarts 3 examples/resume.py

Every second step is saved. In the middle of the fourth, on the first start, rank 1 is killed; torchrun starts both
anew, and they go on from the last checkpoint, with the next micro-batch. SIGTERM saves and leaves with status 75.
Set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1: torchrun's store else keeps the addresses of the dead (pytorch issue 135712).
Without torchrun it is one process, and nobody is killed.
"""

import os
import signal
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from zerograd import Checkpoints, Cursor, Step, groups

several = "RANK" in os.environ
if several:
    dist.init_process_group("gloo")
rank, ranks = (dist.get_rank(), dist.get_world_size()) if several else (0, 1)
first_start = several and os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0"
run = os.environ.get("TORCHELASTIC_RUN_ID", str(os.getpid()))

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
model = DistributedDataParallel(net) if several else net
step = Step(torch.optim.AdamW(model.parameters(), lr=0.01), clip=1.0)
data = TensorDataset(torch.randn(64, 4))
cursor = Cursor(DataLoader(data, batch_size=4, sampler=DistributedSampler(data, ranks, rank)))
folder = os.environ.get("CHECKPOINTS", os.path.join(tempfile.gettempdir(), f"zerograd-resume-{run}"))
saved = Checkpoints(folder, step, model=model, loader=cursor, every=2, keep=2)

print(f"rank {rank}: {'goes on after step ' + str(step.committed) if saved.resume() else 'begins'}", flush=True)
while cursor.epoch < 2:
    for group in groups(cursor, 3, begun=step.in_flight):
        with step:
            for (batch,) in step.micro_batches(group, weight=lambda item: len(item[0])):
                step.backward(model(batch).square().mean())
                if first_start and rank == 1 and step.committed == 3:
                    os.kill(os.getpid(), signal.SIGKILL)
        saved.keep_up()
print(f"rank {rank}: {step.committed} steps, weights {sum(p.detach().abs().sum() for p in model.parameters()):.6f}")
saved.close()
if several:
    dist.destroy_process_group()
