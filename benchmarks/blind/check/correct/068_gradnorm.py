import torch
from torch import nn

shared = nn.Linear(10, 10)
heads = nn.ModuleList([nn.Linear(10, 1), nn.Linear(10, 1)])
weights = torch.ones(2, requires_grad=True)
opt_net = torch.optim.SGD([*shared.parameters(), *heads.parameters()], lr=0.01)
opt_w = torch.optim.Adam([weights], lr=0.025)
initial = None

for step in range(100):
    x = torch.randn(32, 10)
    h = shared(x).relu()
    task = torch.stack([(hd(h).squeeze(1) - x[:, i]).pow(2).mean() for i, hd in enumerate(heads)])
    if initial is None:
        initial = task.detach()
    weighted = (weights.detach() * task).sum()
    opt_net.zero_grad()
    weighted.backward(retain_graph=True)

    norms = torch.stack([
        weights[i] * torch.autograd.grad(task[i], shared.weight, retain_graph=True)[0].norm()
        for i in range(2)
    ])
    ratio = task.detach() / initial
    b9 = (norms.mean() * (ratio / ratio.mean()) ** 0.12).detach()
    opt_w.zero_grad()
    (norms - b9).abs().sum().backward()
    opt_w.step()
    opt_net.step()
    with torch.no_grad():
        weights.mul_(2 / weights.sum())
