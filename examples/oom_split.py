"""Out of memory: the batch is halved until it fits. The gradient is that of the whole batch, and what fits is kept."""

import torch
from torch import nn

from zerograd import Step

torch.manual_seed(0)
x = torch.randn(64, 10)
y = x[:, :1].cos()
model = nn.Sequential(
    nn.Linear(10, 32), nn.BatchNorm1d(32, track_running_stats=True), nn.Dropout(0.1), nn.Linear(32, 1)
)
step = Step(torch.optim.AdamW(model.parameters(), lr=1e-2), model=model)  # model: its buffers are restored as well
FITS, tried = 20, []


def loss(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    features, target = batch
    tried.append(len(features))
    if len(features) > FITS:  # stands for the device
        raise torch.OutOfMemoryError("no room for that many rows")
    return nn.functional.mse_loss(model(features), target)


for epoch in range(150):
    with step:
        step.split((x, y), loss)
    if epoch == 0:
        print(f"tried {tried}: {step.outcome.micro_batches} parts, weight {step.outcome.weight:.0f}")
        assert tried[:2] == [64, 32]

assert sum(rows > FITS for rows in tried[10:]) < 20  # what failed is tried again now and then: memory may be free
model.eval()
final = nn.functional.mse_loss(model(x), y)
print(f"{step.committed} steps, loss {final.item():.4f}")
assert final.item() < 0.3
