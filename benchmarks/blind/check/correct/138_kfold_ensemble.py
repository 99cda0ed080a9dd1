import torch
from torch import nn


def make():
    return nn.Sequential(nn.Linear(9, 18), nn.ReLU(), nn.Linear(18, 1))


def fit(m, X, Y, n=100):
    o = torch.optim.Adam(m.parameters(), 1e-2)
    for _ in range(n):
        i = torch.randint(0, len(X), (16,))
        e = nn.functional.mse_loss(m(X[i]), Y[i])
        o.zero_grad(set_to_none=True)
        e.backward()
        o.step()
    return m.eval()


X, Y = torch.randn(100, 9), torch.randn(100, 1)
folds = torch.arange(100).chunk(5)
scores, crowd = [], []
for k, hold in enumerate(folds):
    keep = torch.cat([f for j, f in enumerate(folds) if j != k])
    m = fit(make(), X[keep], Y[keep])
    with torch.no_grad():
        scores.append((m(X[hold]) - Y[hold]).pow(2).mean().item())
    crowd.append(m)
print(sum(scores) / 5, torch.stack([m(X) for m in crowd]).mean(0).detach().shape)
