import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
table = {p: torch.optim.Adam([p], lr=1e-3, foreach=False) for p in model.parameters()}


def apply(param):
    table[param].step()
    table[param].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(apply)

for step in range(200):
    loss = model(torch.randn(16, 8)).pow(2).mean()
    loss.backward()
