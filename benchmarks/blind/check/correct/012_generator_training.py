import itertools

import torch
from torch import nn


def forever(dataset, size):
    while True:
        perm = torch.randperm(len(dataset[0]))
        for idx in perm.split(size):
            yield tuple(t[idx] for t in dataset)


def training(m_, p_, batches):
    """yields the loss after every update"""
    m_.train()
    for x, y in batches:
        l_ = nn.functional.binary_cross_entropy_with_logits(m_(x).squeeze(1), y)
        p_.zero_grad()
        l_.backward()
        p_.step()
        yield l_.item()


m_ = nn.Linear(6, 1)
p_ = torch.optim.SGD(m_.parameters(), lr=0.5)
X = torch.randn(300, 6)
x_ = (X, (X[:, 0] > 0).float())
history = []
for step, value in enumerate(itertools.islice(training(m_, p_, forever(x_, 30)), 400)):
    history.append(value)
    if step % 50 == 49:
        print(step, sum(history[-50:]) / 50)
