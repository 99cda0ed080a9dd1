import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=10, line_search_fn="strong_wolfe")
X = torch.rand(200, 2)
Y = (X[:, :1] * X[:, 1:]).sin()


def closure():
    loss = nn.functional.mse_loss(model(X), Y)
    loss.backward()
    return loss


for epoch in range(20):
    value = optimizer.step(closure)  # FAULT: ZG009
    print(epoch, value.item())
