"""What is trained is kept, wherever it is held."""

from pathlib import Path

import pytest
import torch
from torch import nn

from zerograd import CheckpointError, Checkpoints, Step


class Forgetful(nn.Module):
    """Its state_dict() leaves a trained parameter out."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(3, 2), nn.Linear(2, 1)

    def forward(self, x):
        return self.head(self.body(x))

    def state_dict(self, *args, **kwargs):
        return {name: one for name, one in super().state_dict(*args, **kwargs).items() if "head" not in name}

    def load_state_dict(self, state, **kwargs):
        return super().load_state_dict(state, strict=False)


def _numbered() -> nn.Module:
    """Its parameters are called 0.0 and 0.1, as places in optimizers once were."""
    inner = nn.Module()
    inner.register_parameter("0", nn.Parameter(torch.zeros(3, 1)))
    inner.register_parameter("1", nn.Parameter(torch.zeros(3, 1)))
    model = nn.Module()
    model.add_module("0", inner)
    model.forward = lambda x: x @ (inner.get_parameter("0") + inner.get_parameter("1"))
    return model


@pytest.mark.parametrize("make", [lambda: nn.Linear(3, 1), Forgetful, _numbered])
def test_parameters_that_the_models_state_does_not_have(tmp_path: Path, make) -> None:
    def world():
        torch.manual_seed(0)
        model, first, second = make(), nn.Parameter(torch.zeros(1)), nn.Parameter(torch.ones(2, 1))
        optimizers = [torch.optim.Adam([first, *model.parameters()], lr=0.1), torch.optim.SGD([second], momentum=0.9)]
        step = Step(optimizers)
        return model, first, second, step, Checkpoints(tmp_path, step, model=model)

    def train(model, first, second, step, saved, count):
        saved.close()
        for number in range(count):
            with step:
                loss = (model(torch.ones(2, 3) + number) - 1).square().mean()
                step.backward(loss * torch.exp(-first).sum() + (first * second).square().sum())
        return [value.detach().clone() for value in (*model.parameters(), first, second)]

    whole = world()
    train(*whole, 3)
    weights = train(*whole, 2)
    begun = world()
    train(*begun, 3)
    begun[-1].save()
    resumed = world()
    assert resumed[-1].resume()
    assert all(map(torch.equal, weights, train(*resumed, 2)))


def test_a_module_that_is_kept_beside_the_model_is_kept_once(tmp_path: Path) -> None:
    one, other = nn.Linear(2, 1), nn.Linear(2, 1)
    step = Step(torch.optim.SGD([*one.parameters(), *other.parameters()]))
    saved = Checkpoints(tmp_path, step, model=one, also={"other": other})
    saved.close()
    assert not saved._contents.outside()
    weight = other.weight.clone()
    saved.save()
    with torch.no_grad():
        other.weight.zero_()
    assert saved.resume()
    assert torch.equal(weight, other.weight)


def test_buffers_that_are_no_part_of_the_state(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    model.register_buffer("seen", torch.ones(3), persistent=False)
    saved = Checkpoints(tmp_path, Step(torch.optim.SGD(model.parameters())), model=model)
    saved.close()
    saved.save()
    model.seen.zero_()
    saved.resume()
    assert model.seen.tolist() == [1.0, 1.0, 1.0]


def test_what_has_no_state(tmp_path: Path) -> None:
    model = nn.Linear(2, 1)
    step = Step(torch.optim.SGD(model.parameters()))
    with pytest.raises(CheckpointError, match=r"also\['odd'\] is a list"):
        Checkpoints(tmp_path, step, model=model, also={"odd": []})

    class Odd:
        def state_dict(self):
            raise ValueError("not now")

        def load_state_dict(self, state): ...

    saved = Checkpoints(tmp_path, step, model=model, also={"odd": Odd()})
    saved.close()
    with pytest.raises(CheckpointError, match=r"not saved: also\['odd'\].state_dict\(\) raised ValueError: not now"):
        saved.save()
    assert list(tmp_path.iterdir()) == []
