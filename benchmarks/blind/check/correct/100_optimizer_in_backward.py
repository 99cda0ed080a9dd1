import torch
from torch import nn

zed = nn.Sequential(*[nn.Linear(64, 64) for _ in range(6)])
optimizer_dict = {p: torch.optim.Adam([p], foreach=False) for p in zed.parameters()}


def optimizer_hook(parameter) -> None:
    optimizer_dict[parameter].step()
    optimizer_dict[parameter].zero_grad()


for p in zed.parameters():
    p.register_post_accumulate_grad_hook(optimizer_hook)

for _ in range(10):
    e1 = zed(torch.randn(2, 64)).square().mean()
    e1.backward()
