"""Accelerate told to accumulate: without an accumulate() block each micro-batch is stepped on, divided for nothing."""

import contextlib
import warnings

import pytest
import torch
from torch import nn

import zerograd

accelerate = pytest.importorskip("accelerate")


def _found(told: int, *, accumulates: bool, batches: int) -> list[tuple[str, str]]:
    model = nn.Linear(4, 1)
    rows = [(torch.randn(4), torch.randn(1)) for _ in range(2 * batches)]
    with zerograd.audit(on_finding="collect") as watch, warnings.catch_warnings(action="ignore"):
        accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=told)
        loader = torch.utils.data.DataLoader(rows, batch_size=2)
        model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), loader)
        for _ in range(10):
            for x, y in loader:
                with accelerator.accumulate(model) if accumulates else contextlib.nullcontext():
                    accelerator.backward(nn.functional.mse_loss(model(x), y))
                    optimizer.step()
                    optimizer.zero_grad()
    return [(finding.code, finding.certainty.value) for finding in watch.findings if finding.fails]


@pytest.mark.parametrize(
    ("told", "accumulates", "batches", "found"),
    [
        (4, False, 12, [("ZG106", "certain")]),
        (4, True, 12, []),
        (4, True, 9, []),  # the last group of each pass is a shorter one
        (4, True, 1, []),  # and here each group
        (1, False, 12, []),
    ],
)
def test_accumulation_that_accelerate_was_told_of(
    told: int, accumulates: bool, batches: int, found: list[tuple[str, str]]
) -> None:
    assert _found(told, accumulates=accumulates, batches=batches) == found
