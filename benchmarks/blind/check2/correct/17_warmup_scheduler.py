import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, LinearLR, SequentialLR, ConstantLR, ReduceLROnPlateau


def build(model, plateau):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if plateau:
        return opt, ReduceLROnPlateau(opt, patience=3)
    return opt, SequentialLR(opt, [LinearLR(opt, 0.1, total_iters=5), ConstantLR(opt, 1.0)], [5])


def train(plateau=False):
    model = nn.Linear(4, 1)
    opt, sched = build(model, plateau)
    best = float("inf")
    for epoch in range(30):
        running = 0.0
        for _ in range(10):
            loss = nn.functional.l1_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        if isinstance(sched, ReduceLROnPlateau):
            sched.step(running / 10)
        else:
            sched.step()
        best = min(best, running)
    return best


train()
train(plateau=True)
