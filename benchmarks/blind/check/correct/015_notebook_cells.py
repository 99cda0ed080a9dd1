# %%
import torch
from torch import nn
import matplotlib.pyplot as plt

# %% data
xs = torch.linspace(0, 1, 100)[:, None]
ys = torch.sin(6 * xs) + 0.1 * torch.randn_like(xs)

# %% model
mlp = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(mlp.parameters(), lr=0.01)

# %% check one batch
pred = mlp(xs)
loss = ((pred - ys) ** 2).mean()
loss.backward()
print({n: p.grad.norm().item() for n, p in mlp.named_parameters()})
opt.zero_grad()

# %% train
hist = []
for i in range(500):
    loss = ((mlp(xs) - ys) ** 2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    hist.append(loss.item())

# %% look
plt.plot(hist)
plt.figure()
plt.scatter(xs, ys)
plt.plot(xs, mlp(xs).detach())
plt.show()
