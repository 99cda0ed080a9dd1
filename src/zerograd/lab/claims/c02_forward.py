"""C02: the forward pass writes nothing to .grad; only backward() does."""

import torch
from torch import Tensor
from torch.nn import Parameter

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.tasks import telling_shapes_apart

PASSES = 20


def measure() -> Measured:
    task = telling_shapes_apart(steps=PASSES)
    parameters = list(task.model.parameters())
    touched_empty = touched_full = deposits = 0
    for x, y in task.batches:
        before = _held(parameters)
        loss = task.loss_fn(task.model(x), y)
        changed = sum(not _same(old, p.grad) for old, p in zip(before, parameters, strict=True))
        if before[0] is None:
            touched_empty += changed
        else:
            touched_full += changed
        before = _held(parameters)
        torch.autograd.backward(loss)
        deposits += sum(not _same(old, p.grad) for old, p in zip(before, parameters, strict=True))
    return {
        "forward passes": PASSES,
        "slots": len(parameters),
        "empty slots written by forward": touched_empty,
        "full slots written by forward": touched_full,
        "slots written by backward": deposits,
    }


def _held(parameters: list[Parameter]) -> list[Tensor | None]:
    return [None if p.grad is None else p.grad.clone() for p in parameters]


def _same(old: Tensor | None, new: Tensor | None) -> bool:
    if old is None or new is None:
        return old is new
    return torch.equal(old, new)


def judge(measured: Measured) -> Verdict:
    silent = not measured["empty slots written by forward"] and not measured["full slots written by forward"]
    return Verdict(Ruling.HOLDS if silent and measured["slots written by backward"] else Ruling.DOES_NOT_HOLD)


def shown(measured: Measured) -> str:
    written = measured["empty slots written by forward"], measured["full slots written by forward"]
    return (
        f"{written[0]} + {written[1]} slots written by {measured['forward passes']} forward passes, "
        f"{measured['slots written by backward']} by as many backwards"
    )


CLAIM = Claim(
    id="C02",
    statement="The forward pass writes nothing to .grad; only backward() does",
    measure=measure,
    judge=judge,
    shown=shown,
    advice="Between a step and the next backward() the gradients lie still: that is the whole room in which a clear "
    "has to happen, and it does not matter where in it.",
)
