"""Out of memory: the batch is halved until it fits, and the gradient is the same."""

import pytest
import torch
from torch import nn

from engine.nets import weights
from zerograd import Step, StepError
from zerograd.engine.outcome import Ending


class Memory:
    """A forward and backward pass that fits `limit` rows."""

    def __init__(self, limit: int, *, in_backward: bool = False) -> None:
        self.limit, self.tried, self.in_backward = limit, [], in_backward

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        self.tried.append(len(rows))
        if not self.in_backward:
            self.use(len(rows))
        return rows

    def use(self, rows: int) -> None:
        if rows > self.limit:
            raise torch.OutOfMemoryError(f"{rows} rows")

    def at_backward(self, value: torch.Tensor, rows: int) -> torch.Tensor:
        if self.in_backward:
            value.register_hook(lambda _: self.use(rows))
        return value


def _net(*, dropout: bool = False) -> nn.Sequential:
    torch.manual_seed(0)
    middle = [nn.BatchNorm1d(5), nn.Dropout(0.5)] if dropout else [nn.Tanh()]
    return nn.Sequential(nn.Linear(3, 5), *middle, nn.Linear(5, 1)).double()


X = torch.randn(13, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("in_backward", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 5, 13])
def test_the_same_gradient(limit: int, in_backward: bool) -> None:
    net, whole = _net(), _net()
    step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
    memory = Memory(limit, in_backward=in_backward)

    def loss(rows: torch.Tensor) -> torch.Tensor:
        hidden = memory.at_backward(net[:2](memory(rows)), len(rows))
        return net[2](hidden).square().mean()

    with step:
        step.split(X, loss)
    whole(X).square().mean().backward()
    torch.optim.SGD(whole.parameters(), lr=0.1).step()
    torch.testing.assert_close(weights(net), weights(whole), rtol=1e-12, atol=1e-15)
    assert step.outcome.weight == 13
    tried, memory.tried = memory.tried, []
    with step:  # what fitted is remembered
        step.split(X, loss)
    assert max(memory.tried) <= limit
    assert len(memory.tried) <= len(tried)


def test_what_was_deposited_before_stays() -> None:
    net, whole = _net(), _net()
    step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
    memory = Memory(4)
    with step:
        step.backward(net(X[:3]).square().mean(), weight=3)
        step.split(X, lambda rows: net(memory(rows)).square().mean())
        step.backward(net(X[3:]).square().mean(), weight=10)
    whole(torch.cat([X, X])).square().mean().backward()
    torch.optim.SGD(whole.parameters(), lr=0.1).step()
    torch.testing.assert_close(weights(net), weights(whole), rtol=1e-12, atol=1e-15)


def test_inside_micro_batches_the_parts_share_their_micro_batchs_weight() -> None:
    net, whole = _net(), _net()
    step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
    memory = Memory(2)
    with step:
        for part in step.micro_batches(X.split(6), weight=len):
            step.split(part, lambda rows: net(memory(rows)).square().mean())
    whole(X).square().mean().backward()
    torch.optim.SGD(whole.parameters(), lr=0.1).step()
    torch.testing.assert_close(weights(net), weights(whole), rtol=1e-12, atol=1e-15)
    assert (step.outcome.micro_batches, step.outcome.weight) == (3, 13)


def test_a_failed_try_leaves_neither_random_state_nor_buffers() -> None:
    nets = [_net(dropout=True), _net(dropout=True)]
    for net, limit in zip(nets, (7, 100), strict=True):
        step = Step(torch.optim.SGD(net.parameters(), lr=0.1), model=net)
        step._record.fitted.size = None if limit == 7 else 7  # the second one knows, and does not fail
        memory = Memory(limit)
        torch.manual_seed(5)
        with step:
            step.split(X, lambda rows, net=net, memory=memory: net(memory(rows)).square().mean())
    assert torch.equal(weights(nets[0]), weights(nets[1]))
    assert all(torch.equal(a, b) for a, b in zip(nets[0].buffers(), nets[1].buffers(), strict=True))


def test_columns_and_weights() -> None:
    net = _net()
    step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
    y, mask = X.sum(1, keepdim=True), torch.arange(13) % 3 > 0
    memory = Memory(4)

    def loss(batch: dict) -> torch.Tensor:
        error = (net(memory(batch["x"])) - batch["y"]).square().squeeze(1)
        return error[batch["mask"]].mean()

    with step:
        step.split({"x": X, "y": y, "mask": mask, "note": "kept"}, loss, weight=lambda batch: int(batch["mask"].sum()))
    assert step.outcome.weight == int(mask.sum())
    whole = _net()
    (whole(X) - y).square().squeeze(1)[mask].mean().backward()
    torch.optim.SGD(whole.parameters(), lr=0.1).step()
    torch.testing.assert_close(weights(net), weights(whole), rtol=1e-12, atol=1e-15)


def test_when_one_row_does_not_fit_the_error_is_the_devices_own() -> None:
    net = _net()
    step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
    memory = Memory(0)
    with pytest.raises(torch.OutOfMemoryError) as caught, step:
        step.split(X, lambda rows: net(memory(rows)).mean())
    assert "one row does not fit" in caught.value.__notes__[0]
    assert step.outcome.kind is Ending.ROLLED_BACK


def test_other_errors_are_not_retried() -> None:
    net = _net()
    step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
    tried = []
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), step:
        step.split(X, lambda rows: tried.append(1) or net(rows.t()).mean())
    assert tried == [1]
    with pytest.raises(StepError, match="does not require a gradient"), step:
        step.split(X, lambda rows: net(rows).mean().detach())


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("MPS backend out of memory")])
def test_however_the_allocator_says_it(error: Exception) -> None:
    net = _net()
    step = Step(torch.optim.SGD(net.parameters(), lr=0.1))

    def loss(rows: torch.Tensor) -> torch.Tensor:
        if len(rows) > 2:
            raise error
        return net(rows).square().mean()

    with step:
        step.split(X, loss)
    assert step.outcome.weight == 13


def test_memory_that_was_short_for_a_moment_is_used_again() -> None:
    net = _net()
    step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
    memory = Memory(2)
    for _ in range(12):
        with step:
            step.split(X, lambda rows: net(memory(rows)).square().mean())
        memory.limit = 13
    assert memory.tried[-2:] == [13, 13]
