from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass
class Bag:
    thing: nn.Module
    kick: torch.optim.Optimizer
    pace: torch.optim.lr_scheduler.LRScheduler
    seen: list[float] = field(default_factory=list)

    def poke(self, u: Tensor, v: Tensor) -> None:
        self.kick.zero_grad()
        w = nn.functional.smooth_l1_loss(self.thing(u), v)
        w.backward()
        self.kick.step()
        self.pace.step()
        self.seen.append(w.item())


def make_bag(width: int) -> Bag:
    thing = nn.Sequential(nn.Linear(3, width), nn.GELU(), nn.Linear(width, 2))
    kick = torch.optim.SGD(thing.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    pace = torch.optim.lr_scheduler.CosineAnnealingLR(kick, T_max=200)
    return Bag(thing, kick, pace)


bag = make_bag(64)
for _ in range(200):
    bag.poke(torch.rand(10, 3), torch.rand(10, 2))
print(sum(bag.seen[-10:]) / 10)
