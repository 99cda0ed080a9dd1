"""C06: clearing at the top keeps a failed iteration from damaging the next one."""

import torch
from torch import Tensor, nn

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.loops import Loop
from zerograd.lab.tasks import Batch, telling_shapes_apart, weights

BAD = 3  # the batch whose second loss raises


def _loop(name: str, top: str, middle: str, bottom: str) -> Loop:
    """Two losses, each with its own backward; the second may fail after the first has deposited."""
    text = f"""\
import torch

def train(model, optimizer, batches, loss_fn, second_loss):
    for i, (x, y) in enumerate(batches):
        try:
            {top}
            loss = loss_fn(model(x), y)
            {middle}
            loss.backward()
            second_loss(i, model, x).backward()
            optimizer.step()
            {bottom}
        except ValueError:
            continue
"""
    return Loop(name, "\n".join(line for line in text.splitlines() if line.strip() != "pass") + "\n")


LOOPS = (
    _loop("clear at the top", "optimizer.zero_grad()", "pass", "pass"),
    _loop("clear after the forward pass", "pass", "optimizer.zero_grad()", "pass"),
    _loop("clear after the step", "pass", "pass", "optimizer.zero_grad()"),
)


def _second_loss(fail: bool) -> object:
    def second_loss(i: int, model: nn.Module, x: Tensor) -> Tensor:
        if fail and i == BAD:
            raise ValueError("a damaged sample")
        return torch.stack([p.square().sum() for p in model.parameters()]).sum() * 1e-3

    return second_loss


def _trained(loop: Loop, batches: list[Batch], *, fail: bool) -> Tensor:
    task = telling_shapes_apart(steps=1)
    optimizer = torch.optim.SGD(task.model.parameters(), lr=0.05)
    loop.train(task.model, optimizer, batches, task.loss_fn, _second_loss(fail))
    return weights(task.model)


def measure() -> Measured:
    batches = telling_shapes_apart(steps=BAD + 2).batches
    undisturbed = batches[:BAD] + batches[BAD + 1 :]
    start = weights(telling_shapes_apart(steps=1).model)
    measured: Measured = {}
    for loop in LOOPS:
        # Both runs make the same updates but for what the failed iteration left behind.
        expected = _trained(loop, undisturbed, fail=False)
        actual = _trained(loop, batches, fail=True)
        measured[loop.name] = float((actual - expected).norm() / (expected - start).norm())
    return measured


def judge(measured: Measured) -> Verdict:
    clean = [name for name, error in measured.items() if error == 0]
    if LOOPS[0].name not in clean:
        return Verdict(Ruling.DOES_NOT_HOLD)
    if len(clean) == len(LOOPS):
        return Verdict(Ruling.DOES_NOT_HOLD, "no placement inherits anything")
    spared = [name for name in clean if name != LOOPS[0].name]
    return Verdict(Ruling.HOLDS, f"also with {', '.join(spared)}" if spared else "")


def shown(measured: Measured) -> str:
    return "update inherited: " + ", ".join(f"{100 * error:.0f}% {name}" for name, error in measured.items())


CLAIM = Claim(
    id="C06",
    statement="If an iteration fails, clearing at the top keeps the next one from inheriting damaged gradients",
    measure=measure,
    judge=judge,
    shown=shown,
    advice="Only a clear after the step leaves the door open: an exception jumps over it. Clear before the backward, "
    "or let Step roll the iteration back.",
)
