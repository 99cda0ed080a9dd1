import torch
from torch import nn


def fisher(net, batches):
    info = {n: torch.zeros_like(p) for n, p in net.named_parameters()}
    for x, y in batches:
        net.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        for n, p in net.named_parameters():
            info[n] += p.grad.pow(2) / len(batches)
    net.zero_grad()
    return info


def make_task(k):
    return [(torch.randn(8, 6) + k, torch.randint(0, 3, (8,))) for _ in range(20)]


net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
anchors = []
for k in range(3):
    task = make_task(k)
    for x, y in task:
        loss = nn.functional.cross_entropy(net(x), y)
        for info, old in anchors:
            loss = loss + 50.0 * sum((info[n] * (p - old[n]) ** 2).sum() for n, p in net.named_parameters())
        opt.zero_grad()
        loss.backward()
        opt.step()
    anchors.append((fisher(net, task), {n: p.detach().clone() for n, p in net.named_parameters()}))
