import torch
from torch import nn

net = nn.Linear(4, 1)


def closure_for(opt, x, y):
    def closure():
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        return loss
    return closure


for name in ("SGD", "Adam", "LBFGS"):
    opt = getattr(torch.optim, name)(net.parameters(), lr=0.01)
    for _ in range(20):
        x = torch.randn(32, 4)
        value = opt.step(closure_for(opt, x, x.sum(1, keepdim=True)))
    print(name, float(value))
