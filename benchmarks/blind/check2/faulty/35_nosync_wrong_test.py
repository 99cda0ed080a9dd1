import torch
import torch.distributed as dist
from torch import nn
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
accum = 4
net = DDP(nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
batches = [(torch.randn(4, 8), torch.randn(4, 1)) for _ in range(32)]
for i, (x, y) in enumerate(batches):
    with net.no_sync() if i % accum != 0 else nullcontext():  # FAULT: ZG502
        loss = nn.functional.mse_loss(net(x), y) / accum
        loss.backward()
    if (i + 1) % accum == 0:
        opt.step()
        opt.zero_grad()
