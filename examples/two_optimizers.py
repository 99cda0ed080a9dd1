"""Two optimizers over one loss: one backward, one norm for the clip, one commit, two schedules."""

import torch
from torch import nn

from zerograd import Step

torch.manual_seed(0)
words = torch.randint(50, (512, 6))
target = (words < 8).any(1).float()

table = nn.Embedding(50, 16, sparse=True)
head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
sparse = torch.optim.SparseAdam(table.parameters(), lr=2e-2)
dense = torch.optim.AdamW(head.parameters(), lr=2e-2)
schedules = [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995) for optimizer in (sparse, dense)]
step = Step([sparse, dense], clip=1.0, scheduler=schedules)

for epoch in range(25):
    for rows in torch.randperm(512).split(64):
        with step:
            logits = head(table(words[rows]).amax(1)).squeeze(1)
            step.backward(nn.functional.binary_cross_entropy_with_logits(logits, target[rows]))

right = ((head(table(words).amax(1)).squeeze(1) > 0) == (target > 0)).float().mean()
print(f"{step.committed} steps, {100 * right.item():.0f}% right, learning rate {schedules[0].get_last_lr()[0]:.5f}")
assert right > 0.95
