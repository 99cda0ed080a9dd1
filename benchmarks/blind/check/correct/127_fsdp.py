import functools
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy


def run():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    box0 = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(4)])
    box0 = FSDP(box0, auto_wrap_policy=functools.partial(size_based_auto_wrap_policy, min_num_params=20000), device_id=torch.cuda.current_device())
    mover = torch.optim.AdamW(box0.parameters(), lr=1e-4)
    for step in range(100):
        x = torch.randn(8, 1024, device="cuda")
        mover.zero_grad(set_to_none=True)
        dist0 = box0(x).pow(2).mean()
        dist0.backward()
        box0.clip_grad_norm_(1.0)
        mover.step()
        if dist.get_rank() == 0 and step % 10 == 0:
            print(step, dist0.item())


if __name__ == "__main__":
    run()
