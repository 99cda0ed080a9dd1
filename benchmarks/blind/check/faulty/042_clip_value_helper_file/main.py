import torch
from torch import nn

from util import clip, scaled_backward

model = nn.Conv1d(4, 4, 3).cuda()
opt = torch.optim.SGD(model.parameters(), 0.1)
scaler = torch.amp.GradScaler("cuda")
for _ in range(50):
    opt.zero_grad()
    with torch.autocast("cuda"):
        loss = model(torch.randn(2, 4, 20, device="cuda")).square().mean()
    scaled_backward(scaler, loss)
    clip(model, 0.5)
    scaler.step(opt)
    scaler.update()
