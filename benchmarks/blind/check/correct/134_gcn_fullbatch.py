import torch
import torch.nn.functional as F
from torch import nn


class GCN(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.w1, self.w2 = nn.Linear(i, h, bias=False), nn.Linear(h, o, bias=False)

    def forward(self, x, adj):
        x = F.dropout(F.relu(adj @ self.w1(x)), 0.5, self.training)
        return (adj @ self.w2(x)).log_softmax(1)


n = 200
x, y = torch.randn(n, 30), torch.randint(0, 4, (n,))
adj = (torch.rand(n, n) < 0.05).float() + torch.eye(n)
adj = adj / adj.sum(1, keepdim=True)
mask = torch.rand(n) < 0.3
model = GCN(30, 16, 4)
opt = torch.optim.Adam([dict(params=model.w1.parameters(), weight_decay=5e-4), dict(params=model.w2.parameters(), weight_decay=0)], lr=0.01)


def train():
    model.train()
    opt.zero_grad()
    F.nll_loss(model(x, adj)[mask], y[mask]).backward()
    opt.step()


@torch.no_grad()
def test():
    model.eval()
    return (model(x, adj).argmax(1) == y)[~mask].float().mean().item()


for epoch in range(200):
    train()
    if epoch % 20 == 0:
        print(epoch, test())
