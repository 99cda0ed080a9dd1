"""Parameters that should be the same on all ranks are not.

Data parallel training keeps one copy of the model on each rank and averages gradients, so that every copy makes the
same update. Nothing checks that the copies stay equal. If one rank loads a checkpoint after the model was wrapped,
clips by a norm of its own or steps once more than the others, each rank goes on with a model of its own. The loss still
falls. What is saved is the model of rank 0.

An audit compares the bits of these parameters between the ranks after 2, 4, 8, 16 ... steps and then every 1,000: what
DistributedDataParallel wraps, the replicas of HSDP, what tensor parallelism holds in duplicate. It needs no collective
and no option: `torchrun -m zerograd run train.py`. It names the parameters that differ, and when they were alike last.
"""

from zerograd.rules.rule import Fix, Rule, Sees, idiom

SCENERY = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(10)]

"""

BAD = """\
if dist.get_rank() == 0:
    model.module.load_state_dict({"weight": torch.ones(1, 4), "bias": torch.zeros(1)})
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()  # error: [ZG503]
"""

GOOD = """\
model.module.load_state_dict({"weight": torch.ones(1, 4), "bias": torch.zeros(1)})
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""

RULE = Rule(
    code="ZG503",
    name="replicas-differ",
    message="{step} updates replicas that differ between ranks {ranks}",
    sees=Sees.RUN,
    remedy="change weights on all ranks alike, or before DistributedDataParallel copies them from rank 0",
    fix=Fix.NONE,
    ranks=2,
    lacks=idiom,
    led_by=(),
    bad=SCENERY + BAD,
    good=SCENERY + GOOD,
    explanation=__doc__ or "",
)
