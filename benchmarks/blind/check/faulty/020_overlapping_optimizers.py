import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(20, 10)
        self.decoder = nn.Linear(10, 20)

    def forward(self, x):
        return self.decoder(self.encoder(x).relu())


net = Net()
opt_all = torch.optim.SGD(net.parameters(), lr=0.01)
opt_enc = torch.optim.SGD(net.encoder.parameters(), lr=0.01)
for _ in range(100):
    x = torch.randn(16, 20)
    opt_all.zero_grad()
    loss = nn.functional.mse_loss(net(x), x)
    loss.backward()
    opt_all.step()
    opt_enc.step()  # FAULT: ZG004
