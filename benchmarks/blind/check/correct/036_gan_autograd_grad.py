import torch
from torch import nn


def apply_grads(params, l_, p_):
    params = list(params)
    grads = torch.autograd.grad(l_, params)
    for p, g in zip(params, grads):
        p.grad = g
    p_.step()


gen = nn.Linear(4, 2)
dis = nn.Linear(2, 1)
og = torch.optim.RMSprop(gen.parameters(), 5e-5)
od = torch.optim.RMSprop(dis.parameters(), 5e-5)
for step in range(100):
    x = torch.randn(32, 2)
    z = torch.randn(32, 4)
    apply_grads(dis.parameters(), dis(gen(z).detach()).mean() - dis(x).mean(), od)
    with torch.no_grad():
        for p in dis.parameters():
            p.clamp_(-0.01, 0.01)
    if step % 5 == 0:
        apply_grads(gen.parameters(), -dis(gen(z)).mean(), og)
