import torch
import torch_xla.core.xla_model as xm
import torch_xla.distributed.parallel_loader as pl
from torch import nn


def _mp_fn(index, flags):
    device = xm.xla_device()
    model = nn.Linear(32, 4).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=flags["lr"])
    ds = torch.utils.data.TensorDataset(torch.randn(320, 32), torch.randint(0, 4, (320,)))
    loader = pl.MpDeviceLoader(torch.utils.data.DataLoader(ds, 16), device)
    for _ in range(flags["epochs"]):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            xm.optimizer_step(optimizer)


if __name__ == "__main__":
    import torch_xla.distributed.xla_multiprocessing as xmp
    xmp.spawn(_mp_fn, args=({"lr": 0.1, "epochs": 2},))
