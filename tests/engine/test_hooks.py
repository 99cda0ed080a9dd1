"""Hooks and retain_grad() on tensors that lead to none of the Step's parameters see what they see in a plain loop."""

import contextlib
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from engine.nets import sgd, weights
from zerograd import Step
from zerograd.engine.hooks import Hooks

Seen = list[tuple[str, Tensor]]


class World:
    """A generator, a judge of somebody else's, an input that wants a gradient; and what hooks saw."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.G, self.D = nn.Linear(3, 3), nn.Linear(3, 1)
        self.seen: Seen = []

    def note(self, name: str) -> Callable[..., None]:
        def hook(*given: object) -> None:
            last = given[-1][0] if isinstance(given[-1], tuple) else given[-1]
            self.seen.append((name, last.clone() if isinstance(last, Tensor) else torch.zeros(())))

        return hook

    def loss(self, kind: str) -> tuple[Tensor, dict[str, Tensor]]:
        x = torch.ones(2, 3, requires_grad=True)
        shifted, real = x * 2, self.D(torch.ones(2, 3))
        tensors = {"x": x, "shifted": shifted, "real": real}
        for name, tensor in tensors.items():
            if kind == "hooks":
                tensor.register_hook(self.note(name))
            elif kind == "node hooks" and tensor.grad_fn is not None:
                tensor.grad_fn.register_hook(self.note(name))
            elif kind == "retain_grad":
                tensor.retain_grad()
        return self.D(self.G(shifted)).square().mean() + real.square().mean(), tensors

    def persistent(self, kind: str) -> None:
        if kind == "module hooks":
            self.G.register_full_backward_hook(self.note("G"))
            self.D.register_full_backward_hook(self.note("D"))
        elif kind == "leaf hooks":
            self.D.weight.register_hook(self.note("D.weight"))


def _run(kind: str, *, stepped: bool) -> tuple[World, Step | None]:
    world = World()
    step = Step(sgd(world.G)) if stepped else None
    optimizer = sgd(world.G)
    for turn in range(4):
        if turn == 1:
            world.persistent(kind)
        with step or contextlib.nullcontext():
            loss, tensors = world.loss(kind if turn % 2 else "none")
            if step is not None:
                step.backward(loss)
            else:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        if kind == "retain_grad" and turn % 2:
            world.seen += [(name, tensors[name].grad) for name in ("shifted", "real")]
        if step is not None:
            assert world.D.weight.grad is None
            assert tensors["x"].grad is None
    return world, step


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # the judge's, of data
@pytest.mark.parametrize("kind", ["hooks", "node hooks", "retain_grad", "module hooks", "leaf hooks"])
def test_they_see_what_they_see_in_a_plain_loop(kind: str) -> None:
    by_hand, by_step = _run(kind, stepped=False)[0], _run(kind, stepped=True)[0]
    assert [name for name, _ in by_step.seen] == [name for name, _ in by_hand.seen]
    assert len(by_hand.seen) > 2
    assert all(torch.equal(one[1], other[1]) for one, other in zip(by_step.seen, by_hand.seen, strict=True))
    assert torch.equal(weights(by_step.G), weights(by_hand.G))


def test_where_nothing_is_deposited_no_deposit_is_told() -> None:
    world = World()
    world.D.weight.register_post_accumulate_grad_hook(world.note("D.weight"))
    step = Step(sgd(world.G))
    for _ in range(2):
        with step:
            step.backward(world.loss("none")[0])
    assert world.seen == []


def test_a_loop_without_hooks_is_looked_at_once() -> None:
    hooks = Hooks()
    assert hooks.may_be_there()
    assert not hooks.want_all([torch.ones(1, requires_grad=True)])
    for _ in range(3):
        hooks.before = hooks.now
        assert not hooks.may_be_there()
    (torch.ones(1, requires_grad=True) * 2).register_hook(lambda grad: None)
    for _ in range(2):  # of one block: the second backward may go through the same graph
        assert hooks.may_be_there()
    hooks.before = hooks.now
    assert not hooks.may_be_there()
