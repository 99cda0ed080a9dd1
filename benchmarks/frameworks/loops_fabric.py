"""Fabric on two spawned processes, with windows, no_backward_sync and clipping. Nothing here is wrong."""

import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset


def train(fabric: Fabric) -> None:
    fabric.seed_everything(0, verbose=False)
    model = torch.nn.Linear(4, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    loader = fabric.setup_dataloaders(DataLoader(data, batch_size=4))
    for number, (x, y) in enumerate(loader, 1):
        with fabric.no_backward_sync(model, enabled=number % 3 != 0):
            fabric.backward(torch.nn.functional.mse_loss(model(x), y) / 3)
        if number % 3 == 0:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    Fabric(accelerator="cpu", devices=2, strategy="ddp_spawn").launch(train)
