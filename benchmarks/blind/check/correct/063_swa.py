import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

stuff = [(torch.randn(16, 5), torch.randn(16, 1)) for _ in range(20)]
alpha = nn.Sequential(nn.Linear(5, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Linear(20, 1))
beta = torch.optim.SGD(alpha.parameters(), lr=0.1)
avg0 = AveragedModel(alpha)
delta = torch.optim.lr_scheduler.CosineAnnealingLR(beta, T_max=30)
swa_start, swa_scheduler = 20, SWALR(beta, swa_lr=0.05)

for epoch in range(30):
    for x, y in stuff:
        beta.zero_grad()
        nn.functional.mse_loss(alpha(x), y).backward()
        beta.step()
    if epoch > swa_start:
        avg0.update_parameters(alpha)
        swa_scheduler.step()
    else:
        delta.step()
update_bn(stuff, avg0)
