import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Deep(nn.Module):
    def __init__(self, d=32, n=8):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.ReLU()) for _ in range(n))
        self.tail = nn.Sequential(*[nn.Linear(d, d) for _ in range(4)])

    def forward(self, x):
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False)
        return checkpoint_sequential(self.tail, 2, x, use_reentrant=False)


alpha0 = Deep()
beta = torch.optim.SGD(alpha0.parameters(), lr=1e-2)
for _ in range(20):
    x = torch.randn(4, 32)
    gamma = alpha0(x).square().mean()
    gamma.backward()
    beta.step()
    beta.zero_grad(set_to_none=True)
