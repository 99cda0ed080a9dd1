import torch

w = torch.randn(5, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
X = torch.randn(200, 5)
y = X @ torch.tensor([[1.0], [2.0], [3.0], [4.0], [5.0]]) + 0.5
lr = 1e-3

for epoch in range(100):
    loss = ((X @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad  # FAULT: ZG001
        b -= lr * b.grad
    if epoch % 10 == 0:
        print(epoch, loss.item())
