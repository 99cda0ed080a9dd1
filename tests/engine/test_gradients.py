"""Norms, scaling and clipping, of dense and of sparse gradients."""

import pytest
import torch
from torch import nn

from zerograd import Step
from zerograd.engine.gradients import total_norm
from zerograd.engine.outcome import Ending


def test_large_half_precision_gradients_are_finite() -> None:
    weight = nn.Parameter(torch.zeros(4, dtype=torch.float16))
    step = Step(torch.optim.SGD([weight], lr=1e-5), clip=1.0)
    with step:
        step.backward((weight * 40000.0).sum())
    assert step.outcome.kind is Ending.COMMITTED
    assert step.outcome.norm == pytest.approx(80000.0)


def test_sparse_gradients() -> None:
    table = nn.Embedding(10, 3, sparse=True)
    before = table.weight.detach().clone()
    step = Step(torch.optim.SGD(table.parameters(), lr=0.1), clip=0.5)
    with step:
        for part in step.micro_batches([torch.tensor([1, 1]), torch.tensor([2])], weight=len):
            step.backward(table(part).mean())
    assert not torch.equal(before[1:3], table.weight[1:3])
    assert torch.equal(before[3:], table.weight[3:])


def test_entries_for_one_element_are_summed_before_they_are_measured() -> None:
    """2 + 1 in one element has norm 3, not sqrt(5); and 1 - 1 has none."""
    gradient = torch.sparse_coo_tensor([[1, 1, 2, 2]], [2.0, 1.0, 1.0, -1.0], (4,), check_invariants=True)
    assert float(total_norm([gradient])) == 3.0


@pytest.mark.parametrize("clip", [0.1, 10.0])
def test_a_sparse_gradient_is_clipped_as_if_it_were_dense(clip: float) -> None:
    tables = [nn.Embedding(5, 3, sparse=sparse).double() for sparse in (True, False)]
    tables[1].load_state_dict(tables[0].state_dict())
    steps = [Step(torch.optim.SGD(table.parameters(), lr=1.0), clip=clip) for table in tables]
    for table, step in zip(tables, steps, strict=True):
        with step:
            step.backward(table(torch.tensor([1, 1, 1, 2])).sum())
    assert steps[0].outcome.norm == pytest.approx(steps[1].outcome.norm)
    torch.testing.assert_close(tables[0].weight, tables[1].weight)


def test_a_sparse_plain_loop_is_bitwise_the_same() -> None:
    torch.manual_seed(0)
    by_hand = nn.Embedding(5, 3, sparse=True)
    by_step = nn.Embedding(5, 3, sparse=True)
    by_step.load_state_dict(by_hand.state_dict())
    optimizer, step = torch.optim.SGD(by_hand.parameters(), lr=0.1), Step(torch.optim.SGD(by_step.parameters(), lr=0.1))
    for _ in range(5):
        rows, factors = torch.randint(5, (20,)), torch.randn(20, 3)
        optimizer.zero_grad()
        (by_hand(rows) * factors).sum().backward()
        optimizer.step()
        with step:
            step.backward((by_step(rows) * factors).sum())
    assert torch.equal(by_hand.weight, by_step.weight)
