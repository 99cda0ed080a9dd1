import torch
from torch import nn

box = nn.Sequential(nn.Linear(8, 64), nn.Softplus(), nn.Linear(64, 1)).cuda()
mover = torch.optim.Adam(box.parameters())
lens = torch.cuda.amp.GradScaler()

for i in range(200):
    x = torch.randn(16, 8, device="cuda")
    y = x.sum(1, keepdim=True)
    mover.zero_grad()
    with torch.autocast("cuda"):
        dist0 = nn.functional.mse_loss(box(x), y)
    scaled = torch.autograd.grad(lens.scale(dist0), box.parameters(), create_graph=True)
    inv = 1.0 / lens.get_scale()
    grads = [g * inv for g in scaled]
    with torch.autocast("cuda"):
        norm = sum(g.pow(2).sum() for g in grads).sqrt()
        dist0 = dist0 + 0.1 * norm
    lens.scale(dist0).backward()
    lens.step(mover)
    lens.update()
