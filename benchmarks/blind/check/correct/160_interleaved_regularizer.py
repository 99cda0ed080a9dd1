import torch
from torch import nn
from torch.nn import functional as F

mapping = nn.Sequential(nn.Linear(32, 32), nn.LeakyReLU(0.2))
synth = nn.Linear(32, 48)
D = nn.Linear(48, 1)
phases = []
for name, module, reg_interval in [("G", nn.ModuleList([mapping, synth]), 4), ("D", D, 16)]:
    opt = torch.optim.Adam(module.parameters(), lr=2e-3, betas=(0.0, 0.99))
    phases.append(dict(name=name + "main", module=module, opt=opt, interval=1))
    phases.append(dict(name=name + "reg", module=module, opt=opt, interval=reg_interval))
for ph in phases:
    ph["module"].requires_grad_(False)


def accumulate_gradients(phase, real, z, gain):
    if phase == "Gmain":
        F.softplus(-D(synth(mapping(z)))).mean().mul(gain).backward()
    elif phase == "Greg":
        ws = mapping(z)
        img = synth(ws)
        (g,) = torch.autograd.grad((img * torch.randn_like(img)).sum(), ws, create_graph=True)
        (g.square().sum(1).sqrt() - 1).square().mean().mul(gain).backward()
    elif phase == "Dmain":
        F.softplus(D(synth(mapping(z)))).mean().mul(gain).backward()
        F.softplus(-D(real)).mean().mul(gain).backward()
    else:
        x = real.detach().requires_grad_(True)
        (g,) = torch.autograd.grad(D(x).sum(), x, create_graph=True)
        (g.square().sum(1).mean() * 5).mul(gain).backward()


for it in range(200):
    real = torch.randn(8, 48)
    for ph in phases:
        if it % ph["interval"] != 0:
            continue
        ph["opt"].zero_grad(set_to_none=True)
        ph["module"].requires_grad_(True)
        accumulate_gradients(ph["name"], real, torch.randn(8, 32), ph["interval"])
        ph["module"].requires_grad_(False)
        ph["opt"].step()
