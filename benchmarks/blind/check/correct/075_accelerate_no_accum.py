import torch
from accelerate import Accelerator
from torch import nn

acc = Accelerator()
w0 = nn.Linear(5, 5)
k0 = torch.optim.Adam(w0.parameters())
w0, k0 = acc.prepare(w0, k0)
for _ in range(100):
    p = torch.randn(4, 5, device=acc.device)
    k0.zero_grad()
    acc.backward((w0(p) - p).pow(2).mean())
    acc.clip_grad_value_(w0.parameters(), 0.1)
    k0.step()
acc.wait_for_everyone()
acc.save(acc.unwrap_model(w0).state_dict(), "w0.pt")
