"""C04: backward() adds to .grad; it never overwrites."""

import torch

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict
from zerograd.lab.tasks import telling_shapes_apart

FIRST = (-0.1, 0.2, -0.05)
SECOND = (0.05, -0.1, 0.1)
SUM = (-0.05, 0.1, 0.05)


def measure() -> Measured:
    weight = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    for gradient in (FIRST, SECOND):
        torch.autograd.backward((weight * torch.tensor(gradient, dtype=torch.float64)).sum())
    assert weight.grad is not None
    return {
        "worked example": weight.grad.tolist(),
        "worked example, largest error": float((weight.grad - torch.tensor(SUM, dtype=torch.float64)).abs().max()),
        "real model, distance to the sum": _on_a_real_model()[0],
        "real model, distance to the last gradient": _on_a_real_model()[1],
    }


def _on_a_real_model() -> tuple[float, float]:
    """How far .grad is from the sum of two gradients, and from the second alone, relative to the sum."""
    task = telling_shapes_apart(steps=2)
    model = task.model.double()
    parameters = list(model.parameters())
    alone = []
    for x, y in task.batches:
        loss = task.loss_fn(model(x.double()), y)
        alone.append(torch.autograd.grad(loss, parameters))
        torch.autograd.backward(task.loss_fn(model(x.double()), y))
    held = torch.cat([p.grad.flatten() for p in parameters if p.grad is not None])
    both = torch.cat([(first + second).flatten() for first, second in zip(*alone, strict=True)])
    last = torch.cat([second.flatten() for second in alone[1]])
    return float((held - both).norm() / both.norm()), float((held - last).norm() / both.norm())


def judge(measured: Measured) -> Verdict:
    exact = measured["worked example, largest error"] < 1e-15
    adds = measured["real model, distance to the sum"] < 1e-12
    return Verdict(Ruling.HOLDS if exact and adds else Ruling.DOES_NOT_HOLD)


def shown(measured: Measured) -> str:
    distance = measured["real model, distance to the sum"]
    return f"two backwards leave their sum, to a relative {distance:.0e} in float64"


CLAIM = Claim(
    id="C04",
    statement="backward() adds to .grad; it never overwrites",
    measure=measure,
    judge=judge,
    shown=shown,
    advice="Adding is a feature (accumulation, several losses) as long as every sum is consumed by one step and then "
    "cleared. Clear once for each step, not once for each backward().",
)
