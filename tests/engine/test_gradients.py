"""Norms, scaling and clipping, of dense and of sparse gradients."""

import pytest
import torch
from torch import nn

from zerograd import Step
from zerograd.engine.gradients import inverse, total_norm, unscale
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


def _dense(empty: nn.Parameter) -> tuple[list[nn.Parameter], torch.Tensor]:
    layer = nn.Linear(2, 2).bfloat16()
    return [*layer.parameters(), empty], layer(torch.ones(1, 2).bfloat16()).sum().float() + empty.sum()


def _sparse(_: nn.Parameter) -> tuple[list[nn.Parameter], torch.Tensor]:
    table, dense = nn.Embedding(10, 4, sparse=True), nn.Parameter(torch.ones(2))
    return [table.weight, dense], table(torch.empty(0, dtype=torch.long)).sum() + dense.sum()


def _complex(empty: nn.Parameter) -> tuple[list[nn.Parameter], torch.Tensor]:
    wave, real = nn.Parameter(torch.ones(2, dtype=torch.complex64)), nn.Parameter(torch.ones(2).double())
    return [wave, real, empty], wave.abs().sum() + real.sum() + empty.sum()


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("clip", [None, 0.1, {"value": 0.5}, {"norm": 0.1, "per": "group"}])
@pytest.mark.parametrize("make", [_dense, _sparse, _complex])
def test_tensors_without_elements_and_of_many_kinds(make, clip: object, scaled: bool) -> None:
    if make is _complex and isinstance(clip, dict) and "value" in clip:
        return  # a complex number is not clamped by torch either
    parameters, loss = make(nn.Parameter(torch.zeros(0)))
    before = [parameter.detach().clone() for parameter in parameters]
    step = Step(torch.optim.SGD(parameters, lr=0.5), clip=clip, scaler=torch.amp.GradScaler("cpu", enabled=scaled))
    with step:
        step.backward(loss)
    assert step.outcome.moved
    moved = [not torch.equal(old, new) for old, new in zip(before, parameters, strict=True) if old.numel()]
    assert any(moved)


@pytest.mark.filterwarnings("ignore:zerograd skipped")
@pytest.mark.parametrize("make", [_dense, _sparse, _complex])
def test_and_what_is_not_finite_among_them_is_seen(make) -> None:
    parameters, loss = make(nn.Parameter(torch.zeros(0)))
    step = Step(torch.optim.SGD(parameters, lr=0.5))
    with step:
        step.backward(loss * float("inf"))
    assert step.outcome.kind is Ending.SKIPPED


def test_the_norm_of_mixed_kinds_is_torchs_to_the_last_bit() -> None:
    torch.manual_seed(0)
    mixed = [torch.randn(7, dtype=dtype) for dtype in (torch.float32, torch.float64, torch.float32, torch.float64)]
    assert torch.equal(total_norm(mixed), nn.utils.get_total_norm(mixed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_inverse_of_a_scale_is_that_of_torch(dtype: torch.dtype) -> None:
    numbers = [0.0, 1.0, 3.0, 65536.0, 2.0**-126, 2.0**127, *torch.rand(200, dtype=torch.float64).mul(1e5).tolist()]
    for scale in torch.tensor(numbers, dtype=dtype).unbind():
        assert torch.equal(inverse(scale), scale.double().reciprocal().to(dtype))


def test_what_is_not_finite_among_gradients_of_several_kinds_is_found() -> None:
    kinds = [torch.ones(3), torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.complex64), torch.ones(4)]
    half = torch.tensor(0.5)
    assert unscale([one.clone() for one in kinds], half).item() == 0.0
    for place in range(len(kinds)):
        some = [one.clone() for one in kinds]
        some[place][0] = float("nan")
        assert unscale(some, half).item() == 1.0
        assert torch.equal(some[place - 1], kinds[place - 1] / 2)


@pytest.mark.parametrize("kinds", [("cfloat", "float"), ("float", "cfloat", "float"), ("cdouble", "float", "cfloat")])
def test_the_norm_of_complex_and_real_gradients_is_torchs_own(kinds: tuple[str, ...]) -> None:
    """To the last bit: torch sums the norms kind by kind."""
    for seed in range(60):
        torch.manual_seed(seed)
        gradients = [torch.randn(place + 2, 3, dtype=getattr(torch, kind)) for place, kind in enumerate(kinds * 2)]
        assert torch.equal(total_norm(gradients), torch.nn.utils.get_total_norm(gradients))
