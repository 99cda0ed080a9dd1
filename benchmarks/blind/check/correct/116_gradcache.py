import torch
import torch.nn.functional as F
from torch import nn

f, g = nn.Linear(20, 8), nn.Linear(30, 8)
opt = torch.optim.AdamW([*f.parameters(), *g.parameters()], 1e-3)


def clip_loss(a, b, t=0.07):
    logits = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T / t
    lab = torch.arange(len(a))
    return (F.cross_entropy(logits, lab) + F.cross_entropy(logits.T, lab)) / 2


for _ in range(40):
    x, y = torch.randn(64, 20), torch.randn(64, 30)
    xs, ys = x.split(16), y.split(16)
    with torch.no_grad():
        ra, rb = torch.cat([f(c) for c in xs]), torch.cat([g(c) for c in ys])
    ra.requires_grad_()
    rb.requires_grad_()
    loss = clip_loss(ra, rb)
    loss.backward()
    opt.zero_grad()
    for c, gr in zip(xs, ra.grad.split(16)):
        f(c).backward(gradient=gr)
    for c, gr in zip(ys, rb.grad.split(16)):
        g(c).backward(gradient=gr)
    opt.step()
