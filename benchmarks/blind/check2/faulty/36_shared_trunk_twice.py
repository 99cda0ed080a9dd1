import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 16)
        self.pi = nn.Linear(16, 2)

    def forward(self, s):
        return self.pi(self.trunk(s).tanh())


agent = Agent()
whole = torch.optim.Adam(agent.parameters(), lr=1e-3)
trunk = torch.optim.Adam(agent.trunk.parameters(), lr=1e-4)
for _ in range(100):
    loss = nn.functional.cross_entropy(agent(torch.randn(16, 4)), torch.randint(0, 2, (16,)))
    whole.zero_grad()
    trunk.zero_grad()
    loss.backward()
    whole.step()
    trunk.step()  # FAULT: ZG004
