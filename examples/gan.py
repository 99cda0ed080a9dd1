"""A GAN: two steps, discriminator then generator, with accumulation over 4, clipping and mixed precision."""

import torch
from torch import nn

from zerograd import Step, groups

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
opt_g, opt_d = (torch.optim.Adam(net.parameters(), lr=3e-3, betas=(0.5, 0.99)) for net in (G, D))
loader = [torch.randn(16, 2) * 0.3 + torch.tensor([2.0, -1.0]) for _ in range(800)]


def judged(logits: torch.Tensor, real: bool) -> torch.Tensor:
    return nn.functional.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(real)))


def noise(real: torch.Tensor) -> torch.Tensor:
    return torch.randn(len(real), 4)


# begin
step_d = Step(opt_d, clip=1.0, autocast=torch.bfloat16, scaler=torch.amp.GradScaler("cpu"))
step_g = Step(opt_g, clip=1.0, autocast=torch.bfloat16, scaler=torch.amp.GradScaler("cpu"))
for group in groups(loader, 4):
    with step_d:
        for real in step_d.micro_batches(group):
            step_d.backward(judged(D(real), True) + judged(D(G(noise(real)).detach()), False))
    with step_g:
        for real in step_g.micro_batches(group):
            step_g.backward(judged(D(G(noise(real))), True))  # leaves nothing in D
# end

assert all(parameter.grad is None for parameter in D.parameters())
centre = G(torch.randn(1000, 4)).mean(0)
print(
    f"{step_g.committed} generator steps; the centre of what it makes: {centre[0].item():.2f}, {centre[1].item():.2f}"
)
assert (centre - torch.tensor([2.0, -1.0])).abs().max() < 0.8
