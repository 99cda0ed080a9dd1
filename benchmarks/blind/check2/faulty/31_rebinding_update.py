import torch

X = torch.randn(100, 3)
Y = X @ torch.tensor([[1.0], [-2.0], [0.5]])
w = torch.zeros(3, 1, requires_grad=True)
lr = 0.1
for epoch in range(50):
    loss = ((X @ w - Y) ** 2).mean()
    loss.backward()
    w = w - lr * w.grad  # FAULT: ZG304
