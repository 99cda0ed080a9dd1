import torch
from torch import nn


def embed(x, n=6):
    f = 2.0 ** torch.arange(n)
    a = x[..., None] * f
    return torch.cat([a.sin(), a.cos()], -1).flatten(-2)


coarse, fine = nn.Linear(36, 4), nn.Linear(36, 4)
grad_vars = list(coarse.parameters()) + list(fine.parameters())
optimizer = torch.optim.Adam(params=grad_vars, lr=5e-4, betas=(0.9, 0.999))
global_step = 0
for i in range(200):
    pts, rgb = torch.rand(256, 3), torch.rand(256, 3)
    c = coarse(embed(pts))
    f = fine(embed(pts))
    optimizer.zero_grad()
    img_loss = (f[:, :3].sigmoid() - rgb).pow(2).mean()
    loss = img_loss + (c[:, :3].sigmoid() - rgb).pow(2).mean()
    loss.backward()
    optimizer.step()
    new_lr = 5e-4 * 0.1 ** (global_step / 250000)
    for group in optimizer.param_groups:
        group["lr"] = new_lr
    global_step += 1
