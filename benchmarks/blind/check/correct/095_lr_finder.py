import copy

import torch
from torch import nn


class LRFinder:
    def __init__(self, thing, o1, crit):
        self.thing, self.o1, self.crit = thing, o1, crit
        self.model_state = copy.deepcopy(thing.state_dict())
        self.optimizer_state = copy.deepcopy(o1.state_dict())
        self.history = {"lr": [], "loss": []}

    def reset(self):
        self.thing.load_state_dict(self.model_state)
        self.o1.load_state_dict(self.optimizer_state)

    def range_test(self, rows, end_lr=10, num_iter=100, beta=0.95, diverge=5):
        lr0 = self.o1.param_groups[0]["lr"]
        pace = torch.optim.lr_scheduler.LambdaLR(self.o1, lambda i: (end_lr / lr0) ** (i / num_iter))
        it, avg, best = iter(rows), 0.0, None
        for i in range(num_iter):
            try:
                x, y = next(it)
            except StopIteration:
                it = iter(rows)
                x, y = next(it)
            self.o1.zero_grad()
            q = self.crit(self.thing(x), y)
            q.backward()
            self.o1.step()
            self.history["lr"].append(pace.get_last_lr()[0])
            pace.step()
            avg = beta * avg + (1 - beta) * q.item()
            smooth = avg / (1 - beta ** (i + 1))
            self.history["loss"].append(smooth)
            best = smooth if best is None else min(best, smooth)
            if smooth > diverge * best:
                break


m = nn.Linear(4, 2)
o = torch.optim.SGD(m.parameters(), lr=1e-7)
f = LRFinder(m, o, nn.CrossEntropyLoss())
f.range_test([(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(10)])
f.reset()
