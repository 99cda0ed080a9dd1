"""Accumulation over sentences of unequal length: every token weighs the same, whatever micro-batch it is in."""

import torch
from torch import nn

from zerograd import Step, groups

torch.manual_seed(0)
VOCABULARY, PADDING = 20, -100


def batch(sentences: int) -> dict[str, torch.Tensor]:
    tokens = (torch.randint(VOCABULARY, (sentences, 1)) + torch.arange(12)) % VOCABULARY  # counting, from anywhere
    labels = tokens.roll(-1, dims=1)
    for row in range(sentences):
        labels[row, int(torch.randint(2, 12, ())) :] = PADDING
    return {"tokens": tokens, "labels": labels}


loader = [
    batch(sentences) for sentences in (8, 8, 8, 3, 8, 8, 1)
] * 20  # 7 micro-batches: the tail of each epoch is odd
model = nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY))
step = Step(torch.optim.AdamW(model.parameters(), lr=0.03), clip=1.0)

for group in groups(loader, 4):
    with step:
        for part in step.micro_batches(group, weight=lambda part: int((part["labels"] != PADDING).sum())):
            logits = model(part["tokens"])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), part["labels"].flatten(), ignore_index=PADDING)
            step.backward(loss)

print(f"{step.committed} steps, the last over {step.outcome.weight:.0f} tokens, loss {loss.item():.4f}")
assert loss.item() < 0.5
