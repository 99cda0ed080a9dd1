"""C07: with the same input, the bias gradient grows every iteration when nothing is cleared."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.loops import NEVER_CLEARED

ITERATIONS = 40


def _sequence(lr: float) -> list[float]:
    """|bias.grad| after each backward on one and the same batch, never cleared."""
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    seen: list[float] = []

    def loss_fn(output: Tensor, target: Tensor) -> Tensor:
        if model.bias.grad is not None:
            seen.append(float(model.bias.grad.abs()))
        return nn.functional.mse_loss(output, target)

    NEVER_CLEARED.train(model, optimizer, [(x, y)] * (ITERATIONS + 1), loss_fn)
    return seen


def measure() -> Measured:
    frozen, moving = _sequence(lr=0.0), _sequence(lr=0.05)
    return {
        "weights held, |bias.grad|": frozen,
        "weights moving, |bias.grad|": moving,
        "weights held, grows for": _growing(frozen),
        "weights moving, grows for": _growing(moving),
    }


def _growing(sequence: list[float]) -> int:
    """How many iterations it grows before it first shrinks."""
    for position, (before, after) in enumerate(pairwise(sequence)):
        if after <= before:
            return position + 1
    return len(sequence)


def judge(measured: Measured) -> Verdict:
    held, moving = measured["weights held, grows for"], measured["weights moving, grows for"]
    if held != ITERATIONS:
        return Verdict(Ruling.DOES_NOT_HOLD)
    if moving == ITERATIONS:
        return Verdict(Ruling.HOLDS)
    return Verdict(
        Ruling.HOLDS_IF,
        f"the weights do not move (lr 0: {held} of {ITERATIONS} iterations); once they do, the gradient turns round "
        f"when the loss has passed its minimum (lr 0.05: grows for {moving} iterations, then swings)",
    )


def shown(measured: Measured) -> str:
    held, moving = measured["weights held, grows for"], measured["weights moving, grows for"]
    return f"grows for {held} of {ITERATIONS} iterations with lr 0, for {moving} with lr 0.05"


CLAIM = Claim(
    id="C07",
    statement="With the same input, the bias gradient grows every iteration when nothing is cleared",
    buggy=(NEVER_CLEARED,),
    measure=measure,
    judge=judge,
    shown=shown,
    advice="Do not look for a growing gradient to diagnose a missing clear: in real training it swings instead of "
    "growing. Ask whether a step consumed what an earlier step had consumed; that is what `zerograd run` records.",
)
