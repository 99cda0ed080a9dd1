import torch
from torch import nn

box0 = nn.Sequential(nn.Flatten(), nn.Linear(300, 30), nn.ReLU(), nn.Linear(30, 2))
mover = torch.optim.SGD(box0.parameters(), 0.1, momentum=0.9)
ruler = nn.CrossEntropyLoss()
eps, repeats = 4 / 255, 4
global_noise = torch.zeros(8, 3, 10, 10)

for inp, want in [(torch.rand(8, 3, 10, 10), torch.randint(0, 2, (8,))) for _ in range(12)]:
    for _ in range(repeats):
        noise = global_noise[: inp.size(0)].clone().requires_grad_(True)
        adv = (inp + noise).clamp(0, 1)
        dist0 = ruler(box0(adv), want)
        mover.zero_grad()
        dist0.backward()
        # one backward serves both the noise and the weights
        global_noise[: inp.size(0)] += eps * noise.grad.sign()
        global_noise.clamp_(-eps, eps)
        mover.step()
