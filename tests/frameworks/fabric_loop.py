"""A loop with Lightning Fabric: accumulation, clipping, bfloat16. The last one forgets zero_grad()."""

import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset


def train(*, accumulate: int = 1, precision: str = "32-true", forgets: bool = False) -> None:
    fabric = Fabric(accelerator="cpu", devices=1, precision=precision)
    fabric.seed_everything(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-2))
    data = TensorDataset(torch.randn(56, 4), torch.randn(56, 1))
    loader = fabric.setup_dataloaders(DataLoader(data, batch_size=8))
    for number, (x, y) in enumerate(loader, 1):
        ends = number % accumulate == 0 or number == len(loader)
        with fabric.no_backward_sync(model, enabled=not ends):
            fabric.backward(torch.nn.functional.mse_loss(model(x), y) / accumulate)
        if ends:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()  # error: [ZG001]
            if not forgets:
                optimizer.zero_grad()


if __name__ == "__main__":
    train()
    train(accumulate=3)
    train(accumulate=3, precision="bf16-mixed")
    train(forgets=True)
