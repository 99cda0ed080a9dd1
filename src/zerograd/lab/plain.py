"""The plain supervised loop, right in two ways, wrong in one, and through Step: several claims speak about it."""

from zerograd.lab.loop import Loop

CLEAR_AT_TOP = Loop(
    "clear at the top",
    """\
import torch

for x, y in batches:
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
""",
)

CLEAR_AFTER_FORWARD = Loop(
    "clear after the forward pass",
    """\
import torch

for x, y in batches:
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
""",
)

NEVER_CLEARED = Loop(
    "never cleared",
    """\
import torch

for x, y in batches:
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
""",
)

THROUGH_STEP = Loop(
    "through Step",
    """\
from zerograd import Step

step = Step(optimizer)
for x, y in batches:
    with step:
        loss = loss_fn(model(x), y)
        step.backward(loss)
    losses.append(loss.item())
""",
)
