"""Teach a small transformer a language of sentences. Every character weighs the same, and every step is cleared."""

import torch
from torch import nn

from zerograd.lab.language import PADDING, nats, text_batches, writer

torch.set_num_threads(1)  # so small a model gains nothing from more
torch.manual_seed(0)
model = writer()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
loss_fn = nn.CrossEntropyLoss(ignore_index=PADDING)
accumulation_steps = 4

for epoch in range(20):
    batches = text_batches(10, seed=epoch)  # sentences of 20 to 150 characters: no two batches hold as many
    for start in range(0, len(batches), accumulation_steps):
        group = batches[start : start + accumulation_steps]
        tokens = sum(text.tokens for text in group)
        optimizer.zero_grad()
        for text in group:
            loss = loss_fn(model(text.inputs).flatten(0, 1), text.targets.flatten()) * text.tokens / tokens
            loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: {nats(model):.4f} nats per character on new sentences")
