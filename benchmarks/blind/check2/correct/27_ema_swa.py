import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(128, 10), torch.randn(128, 1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(10, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Linear(20, 1))
swa = AveragedModel(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
cos = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=50)
swa_lr = SWALR(opt, swa_lr=0.05)
for epoch in range(60):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
    if epoch > 40:
        swa.update_parameters(model)
        swa_lr.step()
    else:
        cos.step()
update_bn((b[0] for b in loader), swa)
