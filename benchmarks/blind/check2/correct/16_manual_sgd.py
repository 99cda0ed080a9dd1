import torch

w = torch.zeros(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
X = torch.randn(100, 3)
Y = X @ torch.tensor([[1.0], [2.0], [3.0]]) + 0.5


@torch.no_grad()
def sgd(params, lr):
    for p in params:
        p -= lr * p.grad
        p.grad.zero_()


for epoch in range(20):
    perm = torch.randperm(100)
    for i in range(0, 100, 10):
        idx = perm[i:i + 10]
        loss = ((X[idx] @ w + b - Y[idx]) ** 2).mean()
        loss.backward()
        sgd((w, b), 0.05)
