"""A plain loop. Step clears, checks, clips, steps and moves the schedule; the weights are those of the loop by hand."""

import torch
from torch import nn

from zerograd import Step

torch.manual_seed(0)
x = torch.randn(256, 8)
y = x[:, :1].sin() + x[:, 1:2]
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=32)

model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
ema = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
step = Step(optimizer, clip=1.0, scheduler=torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=80))

for epoch in range(10):
    for features, target in loader:
        with step:
            loss = nn.functional.mse_loss(model(features), target)
            step.backward(loss)
        if step.outcome.moved:  # not after a step that was skipped
            ema.update_parameters(model)
    print(f"epoch {epoch}: loss {loss.item():.4f}, gradient norm {step.outcome.norm:.3f}")

assert loss.item() < 0.1
