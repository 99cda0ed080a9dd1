import torch
from torch import nn
from torchdiffeq import odeint_adjoint as odeint


class Lambda(nn.Module):
    def forward(self, t, y):
        return y ** 3 @ torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha0 = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))

    def forward(self, t, y):
        return self.alpha0(y ** 3)


true_y0, t = torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 25.0, 1000)
with torch.no_grad():
    true_y = odeint(Lambda(), true_y0, t, method="dopri5")


def get_batch():
    s = torch.randperm(990)[:20]
    return true_y[s], t[:10], torch.stack([true_y[s + i] for i in range(10)])


fu = ODEFunc()
beta = torch.optim.RMSprop(fu.parameters(), lr=1e-3)
for itr in range(1, 2001):
    beta.zero_grad()
    y0, bt, by = get_batch()
    gamma = torch.mean(torch.abs(odeint(fu, y0, bt) - by))
    gamma.backward()
    beta.step()
    if itr % 20 == 0:
        with torch.no_grad():
            print(itr, (odeint(fu, true_y0, t) - true_y).abs().mean().item())
