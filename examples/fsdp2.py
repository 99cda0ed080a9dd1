"""Parameters in shards: torchrun --standalone --nproc-per-node 2 examples/fsdp2.py

The same loop again. The norm that clips is that of all shards; a rank with fewer micro-batches runs its last one again,
without weight, because every forward gathers the parameters from all ranks.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from zerograd import Step, groups

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()


def make() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()


def batches_of(rank: int) -> list[torch.Tensor]:
    chance = torch.Generator().manual_seed(rank)
    return [torch.randn(1 + (number + rank) % 4, 4, generator=chance).double() for number in range(6 + rank)]


mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,))
model = make()
for layer in (model[0], model[2]):
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
step = Step(torch.optim.AdamW(model.parameters(), lr=0.01), clip=1.0)
for group in groups(batches_of(rank), 4):
    with step:
        for batch in step.micro_batches(group, weight=len):
            step.backward(model(batch).square().mean())

alone = make()
optimizer = torch.optim.AdamW(alone.parameters(), lr=0.01)
for of_each in zip(*(groups(batches_of(other), 4) for other in range(ranks)), strict=True):
    everything = torch.cat([batch for group in of_each for batch in group])
    optimizer.zero_grad()
    alone(everything).square().mean().backward()
    nn.utils.clip_grad_norm_(alone.parameters(), 1.0)
    optimizer.step()
for mine, other in zip(model.parameters(), alone.parameters(), strict=True):
    assert torch.allclose(mine.full_tensor(), other, rtol=0, atol=1e-12)
print(f"rank {rank}: {step.committed} steps, the weights of one process")
dist.destroy_process_group()
