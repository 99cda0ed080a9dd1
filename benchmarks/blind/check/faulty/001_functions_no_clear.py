import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def build(hidden):
    return nn.Sequential(nn.Linear(20, hidden), nn.ReLU(), nn.Linear(hidden, 4))


def train_epoch(model, loader, optimizer, device):
    model.train()
    total = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()  # FAULT: ZG001
        total += loss.item()
    return total / len(loader)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--epochs", type=int, default=5)
    args = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = build(args.hidden).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = [(torch.randn(16, 20), torch.randint(0, 4, (16,))) for _ in range(50)]
    for epoch in range(args.epochs):
        print(epoch, train_epoch(model, loader, optimizer, device))


if __name__ == "__main__":
    main()
