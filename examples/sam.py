"""Sharpness-aware minimisation: two gradients per step, the second one at the worst point nearby."""

from collections.abc import Callable

import torch
from torch import nn

from zerograd import Step


class SAM(torch.optim.SGD):
    def __init__(self, params, lr: float, rho: float = 0.05) -> None:
        super().__init__(params, lr=lr, momentum=0.9)
        self.rho = rho

    @torch.no_grad()
    def step(self, closure: Callable[[], torch.Tensor]) -> torch.Tensor:
        loss = closure()
        params = [parameter for group in self.param_groups for parameter in group["params"]]
        norm = torch.nn.utils.get_total_norm([parameter.grad for parameter in params])
        uphill = [parameter.grad * (self.rho / (norm + 1e-12)) for parameter in params]
        torch._foreach_add_(params, uphill)
        closure()
        torch._foreach_sub_(params, uphill)
        super().step()
        return loss


torch.manual_seed(0)
x = torch.randn(256, 10)
y = (x[:, :2].prod(1, keepdim=True) > 0).float()
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
step = Step(SAM(model.parameters(), lr=0.05), clip=1.0)

for epoch in range(40):
    for rows in torch.randperm(256).split(64):

        def deposit(s: Step, rows: torch.Tensor = rows) -> None:
            for part in s.micro_batches(rows.split(32), weight=len):  # accumulation, as in any block
                s.backward(nn.functional.binary_cross_entropy_with_logits(model(x[part]), y[part]))

        loss = step.minimize(deposit)

print(f"{step.committed} steps, loss {loss:.4f}")
assert loss < 0.4
