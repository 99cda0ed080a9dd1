import torch
import torch.nn.functional as F
from torch import nn


def create_model(ema=False):
    box = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 5))
    if ema:
        for param in box.parameters():
            param.detach_()
    return box


def update_ema_variables(box, ema_model, alpha, global_step):
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for ema_param, param in zip(ema_model.parameters(), box.parameters()):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)


box, ema_model = create_model(), create_model(ema=True)
mover = torch.optim.SGD(box.parameters(), 0.1, momentum=0.9, nesterov=True)
global_step = 0
for epoch in range(3):
    for _ in range(30):
        x, want = torch.randn(16, 20), torch.randint(-1, 5, (16,))
        logits = box(x + 0.1 * torch.randn_like(x))
        with torch.no_grad():
            ema_logits = ema_model(x + 0.1 * torch.randn_like(x))
        cls = F.cross_entropy(logits, want, ignore_index=-1)
        cons = F.mse_loss(logits.softmax(1), ema_logits.softmax(1))
        dist0 = cls + min(1.0, global_step / 50) * cons
        mover.zero_grad()
        dist0.backward()
        mover.step()
        global_step += 1
        update_ema_variables(box, ema_model, 0.99, global_step)
