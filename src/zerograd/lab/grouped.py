"""The accumulating loop over text: divided by N, undivided, weighed by characters, and through Step."""

from zerograd.lab.loop import Loop

DIVIDED = Loop(
    "divided by the number of micro-batches",
    """\
import torch

for i, text in enumerate(batches):
    loss = loss_fn(model(text.inputs), text.targets) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
)
UNDIVIDED = Loop(
    "the division forgotten",
    """\
import torch

for i, text in enumerate(batches):
    loss = torch.nn.functional.cross_entropy(model(text.inputs).flatten(0, 1), text.targets.flatten(), ignore_index=0)
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
)
WEIGHED = Loop(
    "weighed by the number of characters",
    """\
import torch

for start in range(0, len(batches), accumulation_steps):
    group = batches[start : start + accumulation_steps]
    total = sum(text.tokens for text in group)
    optimizer.zero_grad()
    for text in group:
        loss = loss_fn(model(text.inputs), text.targets) * text.tokens / total
        loss.backward()
    optimizer.step()
""",
)
STEP_PLAIN = Loop(
    "accumulated through Step",
    """\
from zerograd import Step, groups

step = Step(optimizer)
for group in groups(batches, accumulation_steps):
    with step:
        for text in step.micro_batches(group):
            step.backward(loss_fn(model(text.inputs), text.targets))
""",
)
STEP_WEIGHED = Loop(
    "accumulated through Step, weighed",
    """\
from zerograd import Step, groups

step = Step(optimizer)
for group in groups(batches, accumulation_steps):
    with step:
        for text in step.micro_batches(group, weight=lambda text: text.tokens):
            step.backward(loss_fn(model(text.inputs), text.targets))
""",
)
STEP_LOOPED = Loop(
    "backward in a loop, in a Step",
    """\
from zerograd import Step, groups

step = Step(optimizer)
for group in groups(batches, accumulation_steps):
    with step:
        for text in group:
            step.backward(loss_fn(model(text.inputs), text.targets))
""",
)
