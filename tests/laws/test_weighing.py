"""The committed gradient is the weighted mean over all items, however they are cut: any model, any losses."""

from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from zerograd import Step, groups

SIZES = st.lists(st.integers(min_value=0, max_value=9), min_size=1, max_size=12).filter(any)
WIDTHS = st.lists(st.integers(min_value=1, max_value=6), min_size=0, max_size=3)
ACTIVATIONS = {"tanh": nn.Tanh, "softplus": nn.Softplus, "sigmoid": nn.Sigmoid}
LOSSES = {
    "square": lambda out: out.square().mean(),
    "sine": lambda out: out.sin().mean(),
    "fourth": lambda out: out.pow(4).mean() * 0.01,
}


def _weights(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def _model(widths: list[int], activation: str) -> nn.Module:
    torch.manual_seed(1)
    sizes = [3, *widths, 2]
    layers = [(nn.Linear(a, b), ACTIVATIONS[activation]()) for a, b in pairwise(sizes)]
    return nn.Sequential(*[part for pair in layers for part in pair][:-1]).double()


def _sum(out: Tensor, losses: list[str]) -> Tensor:
    return torch.stack([LOSSES[loss](out) for loss in losses]).sum()


@settings(max_examples=120, deadline=None)
@given(
    sizes=SIZES,
    n=st.integers(min_value=1, max_value=5),
    seed=st.integers(min_value=0, max_value=99),
    widths=WIDTHS,
    activation=st.sampled_from(list(ACTIVATIONS)),
    losses=st.lists(st.sampled_from(list(LOSSES)), min_size=1, max_size=3, unique=True),
    scaled=st.booleans(),
    split=st.booleans(),
)
def test_any_cut_gives_the_full_batch_update(
    sizes: list[int],
    n: int,
    seed: int,
    widths: list[int],
    activation: str,
    losses: list[str],
    scaled: bool,
    split: bool,
) -> None:
    generator = torch.Generator().manual_seed(seed)
    batches = [torch.randn(size, 3, dtype=torch.float64, generator=generator) for size in sizes]
    parts, whole = _model(widths, activation), _model(widths, activation)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, enabled=scaled)
    by_parts = Step(torch.optim.SGD(parts.parameters(), lr=1.0), scaler=scaler)
    by_parts._record.fitted.size = 2 if split else None
    by_whole = torch.optim.SGD(whole.parameters(), lr=1.0)
    for group in groups(batches, n):
        parts.load_state_dict(whole.state_dict())  # each step on its own: rounding must not grow through training
        with by_parts:
            for batch in by_parts.micro_batches(group, weight=len):
                if split:
                    by_parts.split(batch, lambda rows: _sum(parts(rows), losses))
                else:
                    for loss in losses:
                        by_parts.backward(LOSSES[loss](parts(batch)))
        items = torch.cat(group)
        if len(items):
            by_whole.zero_grad()
            _sum(whole(items), losses).backward()
            by_whole.step()
        torch.testing.assert_close(_weights(parts), _weights(whole), rtol=1e-12, atol=1e-14)
