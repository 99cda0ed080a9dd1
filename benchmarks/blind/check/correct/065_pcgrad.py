import copy
import random

import torch
from torch import nn


class PCGrad:
    def __init__(self, optimizer):
        self._optim = optimizer

    @property
    def optimizer(self):
        return self._optim

    def zero_grad(self):
        return self._optim.zero_grad(set_to_none=True)

    def step(self):
        return self._optim.step()

    def pc_backward(self, objectives):
        grads, shapes = self._pack(objectives)
        merged = self._project(grads)
        self._set(self._unflatten(merged, shapes))

    def _project(self, grads):
        pc = copy.deepcopy(grads)
        for gi in pc:
            random.shuffle(grads)
            for gj in grads:
                dot = torch.dot(gi, gj)
                if dot < 0:
                    gi -= dot * gj / gj.norm() ** 2
        return torch.stack(pc).mean(0)

    def _pack(self, objectives):
        packed, shapes = [], None
        for obj in objectives:
            self._optim.zero_grad(set_to_none=True)
            obj.backward(retain_graph=True)
            ps = [p for g in self._optim.param_groups for p in g["params"]]
            shapes = [p.shape for p in ps]
            packed.append(torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad.clone()).flatten() for p in ps]))
        return packed, shapes

    def _unflatten(self, flat, shapes):
        out, i = [], 0
        for s in shapes:
            n = s.numel()
            out.append(flat[i:i + n].view(s).clone())
            i += n
        return out

    def _set(self, grads):
        it = iter(grads)
        for g in self._optim.param_groups:
            for p in g["params"]:
                p.grad = next(it)


trunk, heads = nn.Linear(10, 20), nn.ModuleList([nn.Linear(20, 1) for _ in range(3)])
opt = PCGrad(torch.optim.Adam([*trunk.parameters(), *heads.parameters()]))
for _ in range(50):
    h = trunk(torch.randn(8, 10)).relu()
    losses = [head(h).pow(2).mean() for head in heads]
    opt.pc_backward(losses)
    opt.step()
