import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast

device = "cuda"
m_ = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)).to(device)
p_ = torch.optim.SGD(m_.parameters(), lr=0.1)
k_ = GradScaler()
loss_fn = nn.CrossEntropyLoss()


def f_(d_, epochs):
    for epoch in range(epochs):
        for inputs, targets in d_:
            inputs, targets = inputs.to(device), targets.to(device)
            p_.zero_grad()
            with autocast():
                l_ = loss_fn(m_(inputs), targets)
            k_.scale(l_).backward()
            k_.step(p_)
            k_.update()


f_([(torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))) for _ in range(10)], 2)
