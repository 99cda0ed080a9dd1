"""Two ranks, of which the second forgets to clear from its tenth step on."""

import os

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
rank = int(os.environ["RANK"])
for step in range(30):
    x = torch.randn(32, 20)
    if rank == 0 or step < 10:
        optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
