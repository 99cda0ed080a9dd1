import copy
import random

import torch
from torch import nn


class Client:
    def __init__(self, cid, data, lr=0.1):
        self.cid, self.data, self.lr = cid, data, lr

    def update(self, weights, epochs):
        w = nn.Linear(8, 3)
        w.load_state_dict(weights)
        o = torch.optim.SGD(w.parameters(), lr=self.lr)
        for _ in range(epochs):
            for x, y in self.data:
                o.zero_grad()
                nn.functional.cross_entropy(w(x), y).backward()
                o.step()
        return w.state_dict(), sum(len(x) for x, _ in self.data)


def average(results):
    total = sum(n for _, n in results)
    out = copy.deepcopy(results[0][0])
    for k in out:
        out[k] = sum(sd[k] * (n / total) for sd, n in results)
    return out


server = nn.Linear(8, 3)
clients = [Client(i, [(torch.randn(10, 8), torch.randint(0, 3, (10,))) for _ in range(5)]) for i in range(10)]
for rnd in range(20):
    picked = random.sample(clients, 4)
    server.load_state_dict(average([c.update(copy.deepcopy(server.state_dict()), 2) for c in picked]))
