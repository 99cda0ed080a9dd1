import torch

W = torch.randn(10, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
vel = {id(t): torch.zeros_like(t) for t in (W, b)}


def sgd(params, lr, mu):
    with torch.no_grad():
        for p in params:
            v = vel[id(p)]
            v.mul_(mu).add_(p.grad)
            p -= lr * v
            p.grad.zero_()


X = torch.randn(1000, 10)
y = X @ torch.arange(10.0)[:, None] + 4.2
for epoch in range(5):
    for idx in torch.randperm(1000).split(50):
        loss = ((X[idx] @ W + b - y[idx]) ** 2).mean()
        loss.backward()
        sgd([W, b], 0.01, 0.9)
