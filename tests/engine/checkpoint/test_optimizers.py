"""An optimizer gets back what it kept, in its own way if it has one."""

from pathlib import Path

import pytest
import torch
from torch import nn

from zerograd import Checkpoints, Step
from zerograd.engine.checkpoint import optimizers


class Lookahead(torch.optim.SGD):
    """It keeps more than torch does: slow weights, and a count."""

    def __init__(self, parameters, lr=0.1) -> None:
        super().__init__(parameters, lr=lr, momentum=0.9)
        self.slow = [one.detach().clone() for group in self.param_groups for one in group["params"]]
        self.count = 0

    def step(self, closure=None):
        super().step(closure)
        self.count += 1
        if self.count % 2 == 0:
            with torch.no_grad():
                for fast, slow in zip(self.param_groups[0]["params"], self.slow, strict=True):
                    slow.lerp_(fast, 0.5)
                    fast.copy_(slow)

    def state_dict(self):
        return {**super().state_dict(), "slow": self.slow, "count": self.count}

    def load_state_dict(self, state):
        state = dict(state)
        self.slow, self.count = state.pop("slow"), state.pop("count")
        super().load_state_dict(state)


class Precise(torch.optim.Optimizer):
    """Moments in float32 for parameters in bfloat16, and something that is of no parameter."""

    def __init__(self, parameters) -> None:
        super().__init__(parameters, {"lr": torch.tensor(0.1)})

    def step(self, closure=None):
        with torch.no_grad():
            self.state["all"]["count"] = self.state["all"].get("count", 0) + 1
            for one in self.param_groups[0]["params"]:
                moment = self.state[one].setdefault("moment", torch.zeros(one.shape))
                moment.mul_(0.9).add_(one.grad.float())
                one.add_(moment.to(one.dtype), alpha=-self.param_groups[0]["lr"].item())


class OfItsOwn(torch.optim.SGD):
    """Its state_dict() is nothing that torch would know."""

    def state_dict(self):
        return {"mine": [one["momentum_buffer"] for one in self.state.values()]}

    def load_state_dict(self, state):
        for one, buffer in zip(self.param_groups[0]["params"], state["mine"], strict=True):
            self.state[one]["momentum_buffer"] = buffer


MADE = {
    "a wrapper's": (Lookahead, torch.float32),
    "in another precision": (Precise, torch.bfloat16),
    "of its own": (lambda parameters: OfItsOwn(parameters, lr=0.1, momentum=0.9), torch.float32),
    "with a tensor for a rate": (lambda parameters: torch.optim.Adam(parameters, lr=torch.tensor(0.1)), torch.float32),
    "of no parameter": (lambda parameters: torch.optim.LBFGS(parameters, max_iter=2), torch.float32),
}


@pytest.mark.parametrize("name", MADE)
def test_it_goes_on_as_if_nothing_had_been(tmp_path: Path, name: str) -> None:
    make, dtype = MADE[name]

    def world():
        torch.manual_seed(0)
        model = nn.Linear(3, 2).to(dtype)
        step = Step(make(model.parameters()))
        return model, step, Checkpoints(tmp_path, step, model=model)

    def train(model, step, saved, numbers):
        saved.close()
        for number in numbers:
            batch = torch.full((2, 3), 1.0 + number, dtype=dtype)

            def deposit(step, batch=batch):
                step.backward((model(batch) - 1).square().mean())

            if isinstance(step.optimizers[0], torch.optim.LBFGS):
                step.minimize(deposit)
            else:
                with step:
                    deposit(step)
        return [one.detach().clone() for one in model.parameters()]

    want = train(*world(), range(6))
    begun = world()
    train(*begun, range(3))
    begun[-1].save()
    resumed = world()
    assert resumed[-1].resume()
    assert all(map(torch.equal, want, train(*resumed, range(3, 6))))


def test_nothing_is_known_of_what_has_not_stepped() -> None:
    model = nn.Linear(2, 1)
    state = optimizers.read(torch.optim.Adam(model.parameters()))
    assert state["state"] == {}
    assert "params" not in state["groups"][0]
