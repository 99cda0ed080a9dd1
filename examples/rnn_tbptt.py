"""Truncated back-propagation through time: the hidden state goes on from chunk to chunk, the graph does not."""

import torch
from torch import nn

from zerograd import Step

torch.manual_seed(0)
wave = torch.sin(torch.arange(0, 400) * 0.3).reshape(1, -1, 1)
chunks = [(wave[:, at : at + 20], wave[:, at + 1 : at + 21]) for at in range(0, 380, 20)]

rnn, head = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 1)
step = Step(torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-2), clip=1.0)

for epoch in range(15):
    h = None
    for number, (chunk, target) in enumerate(chunks):
        try:
            with step:
                out, h = rnn(chunk, step.carry(h))  # detached; after a failure, as it was before the failed chunk
                loss = nn.functional.mse_loss(head(out), target)
                step.backward(loss)
                if (epoch, number) == (3, 5):
                    raise OSError("a broken chunk")
        except OSError as error:
            print(f"{error}: {step.outcome.kind.value}")

# One step over several chunks is their sum: the gradient reaches back through each chunk, and the state through all.
with step:
    h = None
    for chunk, target in step.micro_batches(chunks, reduce="sum"):
        out, h = rnn(chunk, step.carry(h))
        step.backward(nn.functional.mse_loss(head(out), target))

print(f"{step.committed} steps, loss {loss.item():.5f}")
assert loss.item() < 0.05
