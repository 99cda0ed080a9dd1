import contextlib
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def worker():
    dist.init_process_group("gloo")
    net = DDP(nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    accum = int(os.environ.get("ACCUM", "4"))
    batches = [(torch.randn(4, 8), torch.randn(4, 1)) for _ in range(32)]
    for i, (x, y) in enumerate(batches):
        boundary = (i + 1) % accum == 0 or i + 1 == len(batches)
        with contextlib.ExitStack() as stack:
            if not boundary:
                stack.enter_context(net.no_sync())
            loss = nn.functional.mse_loss(net(x), y) / accum
            loss.backward()
        if boundary:
            opt.step()
            opt.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    worker()
