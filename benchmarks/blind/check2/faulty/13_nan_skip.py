import torch
from torch import nn


def train(net, batches):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    skipped = 0
    for x, y in batches:
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        if torch.isnan(loss):
            skipped += 1
            continue
        opt.step()  # FAULT: ZG007
        opt.zero_grad()
    return skipped


print(train(nn.Linear(3, 1), [(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(50)]))
