import torch
from torch import nn

net_w = nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.Linear(40, 3))
o1 = torch.optim.RMSprop(net_w.parameters(), lr=3e-4)
crit = nn.CrossEntropyLoss()


def run_it(stuff, n):
    seen = 0.0
    for _ in range(n):
        for alpha, beta in stuff:
            q = crit(net_w(alpha), beta)
            q.backward()
            o1.step()
            o1.zero_grad()
            seen += float(q)
    return seen


stuff = [(torch.randn(16, 12), torch.randint(0, 3, (16,))) for _ in range(50)]
print(run_it(stuff, 3))
