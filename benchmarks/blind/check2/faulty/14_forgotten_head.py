import torch
from torch import nn


class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, h):
        return self.fc(h.relu())


def main():
    encoder = nn.Linear(12, 8)
    projector = Projector()
    opt = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    for _ in range(200):
        x, y = torch.randn(16, 12), torch.randint(0, 3, (16,))
        loss = nn.functional.cross_entropy(projector(encoder(x)), y)
        opt.zero_grad()
        loss.backward()  # FAULT: ZG008
        opt.step()


main()
