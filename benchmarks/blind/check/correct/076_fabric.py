import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    fabric = L.Fabric(accelerator="auto", precision="16-mixed")
    fabric.launch()
    model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(DataLoader(TensorDataset(torch.randn(256, 20), torch.randint(0, 3, (256,))), batch_size=16))
    every = 4
    for i, (x, y) in enumerate(loader):
        accumulating = (i + 1) % every != 0
        with fabric.no_backward_sync(model, enabled=accumulating):
            loss = nn.functional.cross_entropy(model(x), y)
            fabric.backward(loss / every)
        if not accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
