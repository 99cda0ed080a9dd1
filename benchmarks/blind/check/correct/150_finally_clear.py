import torch
from torch import nn

mm = nn.Linear(3, 3)
kk = torch.optim.SGD(mm.parameters(), 0.1)


def once(t):
    try:
        e = mm(t).pow(2).mean()
        e.backward()
        if not torch.isfinite(e):
            raise ValueError("bad")
        kk.step()
    except ValueError as err:
        print("skip", err)
    finally:
        kk.zero_grad()


for _ in range(50):
    once(torch.randn(2, 3) * (1e30 if torch.rand(()) < 0.1 else 1))
