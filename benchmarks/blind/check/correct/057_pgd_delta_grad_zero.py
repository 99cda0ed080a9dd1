import torch
import torch.nn as nn


def pgd_linf(model, X, y, epsilon=0.1, alpha=0.01, num_iter=20, randomize=False):
    if randomize:
        delta = torch.rand_like(X, requires_grad=True)
        delta.data = delta.data * 2 * epsilon - epsilon
    else:
        delta = torch.zeros_like(X, requires_grad=True)
    for t in range(num_iter):
        loss = nn.CrossEntropyLoss()(model(X + delta), y)
        loss.backward()
        delta.data = (delta + alpha * delta.grad.detach().sign()).clamp(-epsilon, epsilon)
        delta.grad.zero_()
    return delta.detach()


def epoch_adversarial(model, loader, attack, opt=None, **kwargs):
    err = 0
    for X, y in loader:
        delta = attack(model, X, y, **kwargs)
        yp = model(X + delta)
        loss = nn.CrossEntropyLoss()(yp, y)
        if opt:
            opt.zero_grad()
            loss.backward()
            opt.step()
        err += (yp.argmax(1) != y).sum().item()
    return err


model = nn.Linear(10, 3)
opt = torch.optim.SGD(model.parameters(), lr=1e-1)
batches = [(torch.randn(5, 10), torch.randint(0, 3, (5,))) for _ in range(10)]
for t in range(3):
    print(epoch_adversarial(model, batches, pgd_linf, opt, randomize=True))
print(epoch_adversarial(model, batches, pgd_linf))
