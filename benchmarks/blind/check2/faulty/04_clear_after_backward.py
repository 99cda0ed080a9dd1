import torch
from torch import nn


def train_step(model, optimizer, batch):
    x, y = batch
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()  # FAULT: ZG002
    return loss.item()


def main():
    model = nn.Linear(10, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(100):
        train_step(model, optimizer, (torch.randn(8, 10), torch.randint(0, 4, (8,))))


main()
