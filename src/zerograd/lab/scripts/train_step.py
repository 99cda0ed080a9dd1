"""Teach a small transformer a language of sentences, through Step: no clear to forget, nothing to divide."""

import torch
from torch import nn

from zerograd import Step, groups
from zerograd.lab.language import PADDING, nats, text_batches, writer

torch.set_num_threads(1)  # so small a model gains nothing from more
torch.manual_seed(0)
model = writer()
step = Step(torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9))
loss_fn = nn.CrossEntropyLoss(ignore_index=PADDING)
accumulation_steps = 4

for epoch in range(20):
    batches = text_batches(10, seed=epoch)  # sentences of 20 to 150 characters: no two batches hold as many
    for group in groups(batches, accumulation_steps):
        with step:
            for text in step.micro_batches(group, weight=lambda text: text.tokens):
                loss = loss_fn(model(text.inputs).flatten(0, 1), text.targets.flatten())
                step.backward(loss)
    print(f"epoch {epoch + 1}: {nats(model):.4f} nats per character on new sentences")
