import torch
from torch import nn


class PCGrad:
    def __init__(self, optimizer):
        self._opt = optimizer

    def zero_grad(self):
        self._opt.zero_grad(set_to_none=True)

    def step(self):
        self._opt.step()

    @property
    def params(self):
        return [p for g in self._opt.param_groups for p in g["params"]]

    def backward(self, losses):
        flat = []
        for loss in losses:
            self._opt.zero_grad(set_to_none=True)
            loss.backward(retain_graph=True)
            flat.append(torch.cat([p.grad.flatten().clone() for p in self.params]))
        merged = torch.zeros_like(flat[0])
        for i, g in enumerate(flat):
            g = g.clone()
            for j, h in enumerate(flat):
                if i != j and (dot := g @ h) < 0:
                    g -= dot / (h @ h) * h
            merged += g
        at = 0
        for p in self.params:
            p.grad = merged[at:at + p.numel()].view_as(p).clone()
            at += p.numel()


net = nn.Linear(5, 2)
opt = PCGrad(torch.optim.Adam(net.parameters()))
for _ in range(100):
    out = net(torch.randn(16, 5))
    opt.zero_grad()
    opt.backward([out[:, 0].pow(2).mean(), (out[:, 1] - 1).abs().mean()])
    opt.step()
