"""The committed gradient is the weighted mean over all items, however they are cut into micro-batches."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zerograd import Step, groups

SIZES = st.lists(st.integers(min_value=0, max_value=9), min_size=1, max_size=12).filter(any)


def _weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def _model() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)).double()


@settings(max_examples=150, deadline=None)
@given(SIZES, st.integers(min_value=1, max_value=5), st.integers(min_value=0, max_value=3))
def test_any_cut_gives_the_full_batch_update(sizes: list[int], n: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    batches = [torch.randn(size, 3, dtype=torch.float64, generator=generator) for size in sizes]
    parts, whole = _model(), _model()
    by_parts = Step(torch.optim.SGD(parts.parameters(), lr=1.0))
    by_whole = torch.optim.SGD(whole.parameters(), lr=1.0)
    for group in groups(batches, n):
        parts.load_state_dict(whole.state_dict())  # each step on its own: rounding must not grow through training
        with by_parts:
            for batch in by_parts.micro_batches(group, weight=len):
                by_parts.backward(parts(batch).square().mean())
                by_parts.backward(parts(batch).sin().mean())
        items = torch.cat(group)
        if len(items):
            by_whole.zero_grad()
            (whole(items).square().mean() + whole(items).sin().mean()).backward()
            by_whole.step()
        torch.testing.assert_close(_weights(parts), _weights(whole), rtol=1e-12, atol=1e-14)
