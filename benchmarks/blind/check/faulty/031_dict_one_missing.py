import torch
from torch import nn

nets = {"f": nn.Linear(5, 5), "g": nn.Linear(5, 5)}
fo = torch.optim.Adam(nets["f"].parameters())
go = torch.optim.Adam(nets["g"].parameters())
for k in range(200):
    x = torch.randn(7, 5)
    fo.zero_grad()
    (nets["g"](nets["f"](x)) - x).abs().mean().backward()
    fo.step()
    go.step()  # FAULT: ZG006
