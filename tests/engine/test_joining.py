"""Joined steps commit together, or none of them does."""

from contextlib import suppress

import pytest
import torch
from torch import nn

from engine.nets import weights
from zerograd import Step, StepError, TornStep, join
from zerograd.engine.outcome import Ending

Z = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


class Pair:
    def __init__(self, **options: object) -> None:
        torch.manual_seed(0)
        self.G, self.D = nn.Linear(3, 3).double(), nn.Linear(3, 1).double()
        self.g, self.d = (Step(torch.optim.SGD(net.parameters(), lr=0.1), **options) for net in (self.G, self.D))

    def losses(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.D(self.G(z)).square().mean(), self.D(self.G(z).detach()).sin().mean() + self.D(z).mean()

    def weights(self) -> torch.Tensor:
        return torch.cat([weights(self.G), weights(self.D)])


def test_both_gradients_are_taken_before_any_weight_moves() -> None:
    pair, by_hand = Pair(), Pair()
    with join(pair.g, pair.d) as both:
        for part in both.micro_batches(Z.split(3), weight=len):
            g_loss, d_loss = pair.losses(part)
            pair.g.backward(g_loss)
            pair.d.backward(d_loss)
    g_loss, d_loss = by_hand.losses(Z)
    gradients = [
        (parameter, torch.autograd.grad(loss, parameter, retain_graph=True)[0])
        for net, loss in ((by_hand.G, g_loss), (by_hand.D, d_loss))
        for parameter in net.parameters()
    ]
    with torch.no_grad():
        for parameter, gradient in gradients:
            parameter.sub_(gradient, alpha=0.1)
    torch.testing.assert_close(pair.weights(), by_hand.weights(), rtol=1e-12, atol=0)
    assert (pair.g.outcome.kind, pair.d.outcome.weight) == (Ending.COMMITTED, 4)


def _raise(pair: Pair) -> None:
    pair.g.backward(pair.losses(Z)[0])
    raise ZeroDivisionError


def _abort(pair: Pair) -> None:
    pair.g.backward(pair.losses(Z)[0])
    pair.d.abort()


def _not_finite(pair: Pair) -> None:
    pair.g.backward(pair.losses(Z)[0])
    pair.d.backward(pair.losses(Z)[1] * float("nan"))


def _only_one(pair: Pair) -> None:
    pair.g.backward(pair.losses(Z)[0])


@pytest.mark.filterwarnings("ignore:zerograd skipped")
@pytest.mark.parametrize(
    ("act", "raised", "kinds"),
    [
        (_raise, ZeroDivisionError, (Ending.ROLLED_BACK, Ending.ROLLED_BACK)),
        (_abort, None, (Ending.ABORTED, Ending.ABORTED)),
        (_not_finite, None, (Ending.SKIPPED, Ending.SKIPPED)),
        (_only_one, StepError, (Ending.ROLLED_BACK, Ending.ROLLED_BACK)),
    ],
)
def test_both_or_neither(act, raised, kinds) -> None:
    pair = Pair()
    before = pair.weights()
    try:
        with join(pair.g, pair.d):
            act(pair)
    except (ZeroDivisionError, StepError) as error:
        assert isinstance(error, raised)
    assert torch.equal(before, pair.weights())
    assert (pair.g.outcome.kind, pair.d.outcome.kind) == kinds
    for step, loss in zip((pair.g, pair.d), pair.losses(Z), strict=True):
        with step:
            step.backward(loss)
        assert step.outcome.moved


def test_a_skip_says_whose_it_was() -> None:
    pair = Pair()
    with pytest.warns(RuntimeWarning), join(pair.g, pair.d):
        _not_finite(pair)
    assert pair.g.outcome.cause.startswith("another step of the join was skipped: the gradients are not finite")
    assert (pair.g.skipped, pair.d.skipped) == (1, 1)


class Failing(torch.optim.SGD):
    def step(self, closure=None):
        super().step(closure)
        raise MemoryError


@pytest.mark.parametrize("restore", [(), "weights"])
def test_a_torn_step_takes_the_other_back_or_with_it(restore) -> None:
    pair = Pair(restore=restore)
    pair.d = Step(Failing(pair.D.parameters(), lr=0.1), restore=restore)
    before = pair.weights()
    with pytest.raises(MemoryError if restore else TornStep), join(pair.g, pair.d):
        pair.g.backward(pair.losses(Z)[0])
        pair.d.backward(pair.losses(Z)[1])
    assert torch.equal(before, pair.weights()) is bool(restore)
    assert {pair.g.outcome.kind, pair.d.outcome.kind} == {Ending.ROLLED_BACK if restore else Ending.TORN}


def test_a_scaler_they_share_is_updated_once() -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    pair = Pair(scaler=scaler)
    for _ in range(3):
        with join(pair.g, pair.d):
            pair.g.backward(pair.losses(Z)[0])
            pair.d.backward(pair.losses(Z)[1])
    assert scaler.get_scale() == 8.0


def test_misuse_leaves_nothing_open() -> None:
    pair = Pair()
    with pytest.raises(StepError, match="no Step"):
        join()
    with pytest.raises(StepError, match="already open"), join(pair.g, pair.g):
        pass
    both = join(pair.g, pair.d)
    with pytest.raises(StepError, match="outside the block"):
        both.micro_batches([Z])
    with both:
        pair.g.backward(pair.losses(Z)[0])
        both.abort()
    with pytest.raises(StepError, match="left before its end"), both:
        for part in both.micro_batches(Z.split(2)):
            pair.g.backward(pair.losses(part)[0])
            break
    with pair.g:
        pair.g.backward(pair.losses(Z)[0])


def test_autocast_is_left_as_it_was() -> None:
    pair = Pair(autocast=torch.bfloat16)
    for fails in (False, True):
        with suppress(ZeroDivisionError), join(pair.g, pair.d):
            pair.g.backward(pair.losses(Z)[0].double())
            pair.d.backward(pair.losses(Z)[1].double())
            assert torch.is_autocast_enabled("cpu")
            if fails:
                raise ZeroDivisionError
        assert not torch.is_autocast_enabled("cpu")
