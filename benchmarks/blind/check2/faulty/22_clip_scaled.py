import torch
from torch import nn


class AmpTrainer:
    def __init__(self, model, lr=1e-3, max_norm=1.0):
        self.model = model.cuda()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda")
        self.max_norm = max_norm

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda"):
            loss = nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
        self.scaler.scale(loss).backward()
        if self.max_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # FAULT: ZG201
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.item()


t = AmpTrainer(nn.Linear(4, 2))
for _ in range(100):
    t.step(torch.randn(8, 4), torch.randint(0, 2, (8,)))
