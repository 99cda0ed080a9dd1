"""Several losses of one micro-batch add; micro-batches are averaged. Frozen parts stay as they are."""

import torch
from torch import nn

from zerograd import Step, groups

torch.manual_seed(0)
x = torch.randn(320, 12)
category, amount = (x[:, 0] > 0).long(), x[:, 1:2] * 2

backbone = nn.Sequential(nn.Linear(12, 32), nn.ReLU()).requires_grad_(False)
trunk = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
heads = nn.ModuleDict({"category": nn.Linear(32, 2), "amount": nn.Linear(32, 1)})
frozen = backbone[0].weight.clone()
step = Step(torch.optim.AdamW([*backbone.parameters(), *trunk.parameters(), *heads.parameters()], lr=5e-3))

for epoch in range(20):
    for group in groups(torch.randperm(320).split(32), 2):
        with step:
            for rows in step.micro_batches(group, weight=len):
                hidden = trunk(backbone(x[rows]))
                classify = nn.functional.cross_entropy(heads["category"](hidden), category[rows])
                regress = nn.functional.mse_loss(heads["amount"](hidden), amount[rows])
                step.backward(classify + 0.5 * regress)  # one graph, one backward
                penalty = sum(parameter.abs().mean() for parameter in heads.parameters())
                step.backward(0.01 * penalty)  # a graph of its own: a deposit of its own

print(f"{step.committed} steps, {classify.item():.3f} and {regress.item():.3f}")
assert classify.item() < 0.3
assert torch.equal(frozen, backbone[0].weight)
