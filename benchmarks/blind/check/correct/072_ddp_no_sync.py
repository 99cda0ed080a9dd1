import contextlib
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def main():
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    model = DDP(nn.Linear(100, 10).cuda(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    accum = 4
    loader = [(torch.randn(8, 100), torch.randint(0, 10, (8,))) for _ in range(100)]
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        sync = (i + 1) % accum == 0 or (i + 1) == len(loader)
        ctx = contextlib.nullcontext() if sync else model.no_sync()
        with ctx:
            loss = nn.functional.cross_entropy(model(x.cuda(rank)), y.cuda(rank)) / accum
            loss.backward()
        if sync:
            optimizer.step()
            optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
