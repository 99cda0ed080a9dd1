import torch
from torch import nn


def loop(model, optimizer, data, enabled=True):
    scaler = torch.amp.GradScaler("cuda", enabled=enabled)
    for x, y in data:
        optimizer.zero_grad()
        with torch.autocast("cuda", enabled=enabled):
            loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # FAULT: ZG203


if __name__ == "__main__":
    m = nn.Linear(4, 1).cuda()
    loop(m, torch.optim.SGD(m.parameters(), lr=0.1), [(torch.randn(4, 4).cuda(), torch.randn(4, 1).cuda())] * 20)
