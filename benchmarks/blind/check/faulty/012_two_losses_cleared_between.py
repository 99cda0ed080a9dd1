import torch
from torch import nn

enc, dec = nn.Linear(16, 8), nn.Linear(8, 16)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)

for _ in range(100):
    x = torch.randn(12, 16)
    z = enc(x)
    rec = (dec(z) - x).pow(2).mean()
    rec.backward(retain_graph=True)
    opt.zero_grad()
    reg = z.pow(2).mean()
    reg.backward()
    opt.step()  # FAULT: ZG002
    print(rec.item(), reg.item())
