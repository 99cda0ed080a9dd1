import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(8, 10)
        for p in self.backbone.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.head(self.backbone(x))

    def unfreeze(self):
        for p in self.backbone.parameters():
            p.requires_grad = True


model = Classifier()
model.head = nn.Linear(8, 5)
opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for epoch in range(10):
    if epoch == 5:
        model.unfreeze()
        opt.add_param_group({"params": model.backbone.parameters(), "lr": 0.01})
    for _ in range(10):
        loss = nn.functional.cross_entropy(model(torch.randn(4, 3, 16, 16)), torch.randint(0, 5, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
