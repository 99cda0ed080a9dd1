import torch
from torch import nn
from dataclasses import dataclass, field


@dataclass
class OptimizerBag:
    items: dict = field(default_factory=dict)

    def register(self, name, opt):
        self.items[name] = opt
        return opt

    def zero(self):
        for opt in self.items.values():
            opt.zero_grad(set_to_none=True)

    def step(self, *names):
        for name in names or self.items:
            self.items[name].step()


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(8, 4)
        self.right = nn.Linear(8, 4)

    def forward(self, a, b):
        return (self.left(a) * self.right(b)).sum(-1)


def main(steps=100):
    model = TwoTower()
    bag = OptimizerBag()
    bag.register("left", torch.optim.Adam(model.left.parameters(), lr=1e-3))
    bag.register("right", torch.optim.SGD(model.right.parameters(), lr=1e-2))
    for _ in range(steps):
        a, b = torch.randn(16, 8), torch.randn(16, 8)
        y = (torch.rand(16) > 0.5).float()
        bag.zero()
        loss = nn.functional.binary_cross_entropy_with_logits(model(a, b), y)
        loss.backward()
        bag.step()


if __name__ == "__main__":
    main()
