"""Looking at gradients and changing them: noise, logging, a clip of one's own, and gradients on the inputs."""

from collections.abc import Mapping

import torch
from torch import nn

from zerograd import Step

torch.manual_seed(0)
x = torch.randn(128, 6)
y = x[:, :1] - x[:, 1:2]
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
norms: list[float] = []


def log(named: Mapping[str, torch.Tensor]) -> None:
    norms.append(named["0.weight"].norm().item())  # the true gradient: no weights, no loss scale, not yet clipped


def add_noise(named: Mapping[str, torch.Tensor]) -> None:
    for gradient in named.values():
        gradient.add_(torch.randn_like(gradient), alpha=1e-3 / (1 + step.committed))


def clip_each(named: Mapping[str, torch.Tensor]) -> None:
    for gradient in named.values():
        gradient.mul_(torch.clamp(0.5 / (gradient.norm() + 1e-6), max=1.0))


step = Step(torch.optim.Adam(model.parameters(), lr=1e-2), model=model, inspect=[log, add_noise], clip=clip_each)
for epoch in range(60):
    for rows in torch.randperm(128).split(32):
        features = x[rows].clone().requires_grad_()
        with step:
            loss = nn.functional.mse_loss(model(features), y[rows])
            step.backward(loss, also=[features])  # the inputs get a gradient too, and no other leaf does

hardest = features.grad.norm(dim=1).argmax().item()
print(f"{step.committed} steps, loss {loss.item():.4f}, first norm {norms[0]:.3f}, most sensitive row {hardest}")
assert len(norms) == step.committed
assert loss.item() < 0.1
