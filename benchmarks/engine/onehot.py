"""A model whose gradient says which micro-batches are in it, and with which weight.

Micro-batch i has n rows, all of them the i-th unit vector, and its loss is the mean over its rows of x @ w: its
gradient is the i-th unit vector. So the gradient that an optimizer sees at step() is the list of coefficients with
which every micro-batch entered that step.
"""

import math

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

SIZE = 16
LR = 0.125
Coefficients = dict[int, float]


class Broken(RuntimeError):
    """The failure that a micro-batch of kind "broken" brings."""


class Probe(nn.Module):
    def __init__(self, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(SIZE, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        return x.to(self.w.dtype) @ self.w


class Recorder(torch.optim.SGD):
    """SGD that remembers what it consumed."""

    def __init__(self, params: object, lr: float = LR) -> None:
        super().__init__(params, lr=lr)
        self.log: list[Coefficients] = []

    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        gradient = self.param_groups[0]["params"][0].grad
        self.log.append({} if gradient is None else coefficients(gradient))
        super().step()
        return loss


def coefficients(gradient: Tensor) -> Coefficients:
    values = {place: round(float(value), 6) for place, value in enumerate(gradient)}
    return {place: value for place, value in values.items() if value != 0 or math.isnan(value)}


def micro_batch(place: int, rows: int, kind: str = "fine") -> dict[str, object]:
    x = torch.zeros(rows, SIZE)
    x[:, place] = 1
    return {"x": x, "rows": rows, "kind": kind}


def loss_of(model: nn.Module, batch: dict[str, object]) -> Tensor:
    if batch["kind"] == "broken":
        raise Broken
    loss = model(batch["x"]).mean()
    return loss * float("nan") if batch["kind"] == "nan" else loss


def loader(batches: list[dict[str, object]]) -> DataLoader:
    return DataLoader(batches, batch_size=1, collate_fn=lambda batch: batch[0])


# What every library is given.
UNEQUAL = [micro_batch(place, rows) for place, rows in enumerate([3, 7, 1, 5])]
TEN = [micro_batch(place, 2) for place in range(10)]
EIGHT = TEN[:8]
ONE_BROKEN = [micro_batch(place, 2, "broken" if place == 1 else "fine") for place in range(8)]
ONE_NAN = [micro_batch(place, 2, "nan" if place == 1 else "fine") for place in range(8)]
