import os

import torch
from torch import nn


def save(path, **objs):
    torch.save({k: v.state_dict() if hasattr(v, "state_dict") else v for k, v in objs.items()}, path)


def load(path, **objs):
    ck = torch.load(path, map_location="cpu")
    for k, v in objs.items():
        v.load_state_dict(ck[k])
    return ck["epoch"] + 1


def main(path="ck.pt", epochs=20):
    model = nn.Sequential(nn.Linear(5, 50), nn.ReLU(), nn.Linear(50, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    start = 0
    if os.path.isfile(path):
        start = load(path, model=model, optimizer=optimizer, scheduler=scheduler)
    for epoch in range(start, epochs):
        for _ in range(50):
            x = torch.randn(32, 5)
            optimizer.zero_grad()
            loss = (model(x) - x.norm(dim=1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
        scheduler.step()
        save(path, model=model, optimizer=optimizer, scheduler=scheduler, epoch=epoch)


if __name__ == "__main__":
    main()
