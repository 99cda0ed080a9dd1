import torch
from torch import nn


class PINN(nn.Module):
    def __init__(self, width=20, depth=4):
        super().__init__()
        layers = [nn.Linear(2, width), nn.Tanh()]
        for _ in range(depth):
            layers += [nn.Linear(width, width), nn.Tanh()]
        self.zed0 = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, x, t):
        return self.zed0(torch.cat([x, t], 1))


def d(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


class Solver:
    def __init__(self, nu=0.01 / torch.pi):
        self.zed, self.nu = PINN(), nu
        self.x_f = torch.rand(500, 1, requires_grad=True)
        self.t_f = torch.rand(500, 1, requires_grad=True)
        self.x_u, self.t_u = torch.rand(50, 1) * 2 - 1, torch.zeros(50, 1)
        self.u = -torch.sin(torch.pi * self.x_u)
        self.adam = torch.optim.Adam(self.zed.parameters(), lr=1e-3)
        self.lbfgs = torch.optim.LBFGS(self.zed.parameters(), max_iter=500, line_search_fn="strong_wolfe")

    def loss(self):
        u = self.zed(self.x_f, self.t_f)
        u_t, u_x = d(u, self.t_f), d(u, self.x_f)
        f = u_t + u * u_x - self.nu * d(u_x, self.x_f)
        return (self.zed(self.x_u, self.t_u) - self.u).pow(2).mean() + f.pow(2).mean()

    def closure(self):
        self.lbfgs.zero_grad()
        loss = self.loss()
        loss.backward()
        return loss

    def train(self, n):
        for _ in range(n):
            self.adam.zero_grad()
            self.loss().backward()
            self.adam.step()
        self.lbfgs.step(self.closure)


Solver().train(1000)
