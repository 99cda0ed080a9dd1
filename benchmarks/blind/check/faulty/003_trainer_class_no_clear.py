import torch
from torch import nn


class Fitter:
    def __init__(self, model, cfg):
        self.model = model
        self.cfg = cfg
        self.opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, cfg["epochs"])

    def loss(self, batch):
        x, y = batch
        return nn.functional.binary_cross_entropy_with_logits(self.model(x).squeeze(-1), y)

    def step(self, batch):
        value = self.loss(batch)
        value.backward()
        self.opt.step()  # FAULT: ZG001
        return value.item()

    def fit(self, data):
        for epoch in range(self.cfg["epochs"]):
            mean = sum(self.step(b) for b in data) / len(data)
            self.sched.step()
            print(epoch, mean)


model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
Fitter(model, {"lr": 1e-3, "epochs": 4}).fit([(torch.randn(8, 6), torch.rand(8).round()) for _ in range(10)])
