import torch
from torch import nn
import torch.nn.functional as F

p1 = nn.Sequential(nn.Linear(32, 128), nn.LeakyReLU(0.2), nn.Linear(128, 48))
p2 = nn.Sequential(nn.Linear(48, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
k1 = torch.optim.Adam(p1.parameters(), lr=2e-3, betas=(0.0, 0.99))
k2 = torch.optim.Adam(p2.parameters(), lr=2e-3, betas=(0.0, 0.99))
d_reg_every, r1 = 16, 10.0


def requires_grad(box, flag=True):
    for p in box.parameters():
        p.requires_grad = flag


for i in range(800):
    true_ = torch.randn(8, 48)
    requires_grad(p1, False)
    requires_grad(p2, True)
    made = p1(torch.randn(8, 32))
    v2 = F.softplus(p2(made)).mean() + F.softplus(-p2(true_)).mean()
    p2.zero_grad()
    v2.backward()
    k2.step()

    if i % d_reg_every == 0:
        true_.requires_grad = True
        pred = p2(true_)
        grad_real, = torch.autograd.grad(outputs=pred.sum(), inputs=true_, create_graph=True)
        r1_loss = grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()
        p2.zero_grad()
        (r1 / 2 * r1_loss * d_reg_every + 0 * pred[0]).backward()
        k2.step()

    requires_grad(p1, True)
    requires_grad(p2, False)
    v1 = F.softplus(-p2(p1(torch.randn(8, 32)))).mean()
    p1.zero_grad()
    v1.backward()
    k1.step()
