import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from engine import evaluate, train_one_epoch
from model import build_model


def loaders(n=640):
    ds = TensorDataset(torch.rand(n, 1, 28, 28), torch.randint(0, 10, (n,)))
    return DataLoader(ds, 64, shuffle=True), DataLoader(ds, 128)


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = build_model(10).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    lr_scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3, 6])
    scaler = torch.amp.GradScaler(device.type) if device.type == "cuda" else None
    tr, va = loaders()
    best = 0.0
    for epoch in range(8):
        loss = train_one_epoch(model, nn.CrossEntropyLoss(), tr, optimizer, device, 1.0, scaler)
        lr_scheduler.step()
        acc = evaluate(model, va, device)
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "epoch": epoch}, "best.pt")
        print(epoch, loss, acc)


main()
