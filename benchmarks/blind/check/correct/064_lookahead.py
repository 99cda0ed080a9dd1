from collections import defaultdict

import torch
from torch import nn


class Lookahead(torch.optim.Optimizer):
    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer = optimizer
        self.k, self.alpha = k, alpha
        self.param_groups = optimizer.param_groups
        self.state = defaultdict(dict)
        self.defaults = optimizer.defaults
        self.counter = 0

    @torch.no_grad()
    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        self.counter += 1
        if self.counter % self.k == 0:
            for group in self.param_groups:
                for fast in group["params"]:
                    st = self.state[fast]
                    if "slow" not in st:
                        st["slow"] = fast.data.clone()
                    st["slow"] += (fast.data - st["slow"]) * self.alpha
                    fast.data.copy_(st["slow"])
        return loss

    def zero_grad(self, set_to_none=True):
        self.optimizer.zero_grad(set_to_none)


net = nn.Linear(4, 4)
opt = Lookahead(torch.optim.Adam(net.parameters(), lr=1e-2))
for _ in range(100):
    opt.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    opt.step()
