import torch
from torch import nn


class AMPTrainer:
    def __init__(self, model, lr=1e-3, max_norm=1.0):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda")
        self.max_norm = max_norm

    def train_step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.cross_entropy(self.model(x), y)
        self.scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # FAULT: ZG201
        self.scaler.unscale_(self.optimizer)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


t = AMPTrainer(nn.Linear(12, 3).cuda())
for _ in range(20):
    t.train_step(torch.randn(4, 12, device="cuda"), torch.randint(0, 3, (4,), device="cuda"))
