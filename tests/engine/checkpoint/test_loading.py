"""A resume that fails changes nothing, wherever it fails, and says what failed."""

import random
from copy import deepcopy
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler as schedules
from torch.utils.data import DataLoader, TensorDataset

from zerograd import CheckpointError, Checkpoints, Cursor, Step

DATA = TensorDataset(torch.randn(12, 4, generator=torch.Generator().manual_seed(3)))


class Kept:
    """Something of the user's."""

    def __init__(self, value: object) -> None:
        self.value = value

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


class Broken(Kept):
    """It changes, and then it raises."""

    def load_state_dict(self, state):
        self.value = state["value"]
        if self.value != "here":
            raise KeyError("something of mine")


class Mute(Broken):
    """Nobody can ask it what it was."""

    def state_dict(self):
        if self.value == "here":
            raise AttributeError("not yet")
        return {"value": self.value}


class Run:
    """A small training with everything that a checkpoint keeps; `seed` makes another one."""

    def __init__(self, path: Path, seed: int, *, also=None, **made) -> None:
        torch.manual_seed(seed)
        random.seed(seed)
        self.net = made.get("net", nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)))
        self.sigma = nn.Parameter(torch.full(made.get("sigma", (1,)), float(seed)))
        self.optimizer = made.get("optimizer", torch.optim.AdamW)([*self.net.parameters(), self.sigma], lr=0.1)
        self.scheduler = made.get("scheduler", lambda one: schedules.StepLR(one, 2))(self.optimizer)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0 * seed) if made.get("scaled", True) else None
        self.step = Step(self.optimizer, scheduler=self.scheduler, scaler=scaler)
        self.scaler = scaler
        self.also = {"kept": Kept("saved" if seed == 1 else "here")} if also is None else also
        self.cursor = Cursor(DataLoader(DATA, batch_size=2, shuffle=True))
        self.saved = Checkpoints(path, self.step, model=self.net, loader=self.cursor, also=self.also)

    def train(self, count: int = 3) -> None:
        for _, (batch,) in zip(range(count), self.cursor, strict=False):
            with self.step:
                self.step.backward((self.net(batch) * self.sigma).square().mean())

    def everything(self) -> object:
        things = {name: thing.value for name, thing in self.also.items()}
        parts = [self.optimizer.state_dict(), self.scheduler.state_dict(), self.step.state_dict(), things]
        parts += [self.net.state_dict(), self.sigma, self.cursor.state_dict(), torch.get_rng_state()]
        parts += [random.getstate(), None if self.scaler is None else self.scaler.state_dict()]
        return deepcopy(parts)


def same(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, numpy.ndarray):
        return bool((one == other).all())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("saved")
    run = Run(path, 1)
    run.train()
    run.saved.save()
    run.saved.close()
    return path


OTHERS = {
    "another schedule": {"scheduler": lambda one: schedules.ExponentialLR(one, 0.5)},
    "a schedule of schedules": {
        "scheduler": lambda one: schedules.SequentialLR(one, [schedules.ConstantLR(one)] * 2, [2])
    },
    "schedules of others": {
        "scheduler": lambda one: schedules.ChainedScheduler([schedules.StepLR(one, 2), schedules.ConstantLR(one)])
    },
    "another optimizer": {"optimizer": torch.optim.SGD},
    "no scaler": {"scaled": False},
    "other shapes": {"net": nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, 1))},
    "other names": {"net": nn.ModuleDict({"a": nn.Linear(4, 1)})},
    "another shape outside the model": {"sigma": (2,)},
    "nothing of the user's": {"also": {}},
    "something else of the user's": {"also": {"other": Kept("here")}},
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("trained", [False, True])
def test_what_is_of_another_run(folder: Path, name: str, trained: bool) -> None:
    run = Run(folder, 2, **OTHERS[name])
    if trained and name != "other names":
        run.train(2)
    before = run.everything()
    with pytest.raises(CheckpointError, match="the checkpoint is of something else") as caught:
        run.saved.resume()
    run.saved.close()
    assert "Nothing was changed" in str(caught.value)
    assert same(before, run.everything())


@pytest.mark.parametrize("trained", [False, True])
def test_what_raises_when_it_is_loaded(folder: Path, trained: bool) -> None:
    run = Run(folder, 2, also={"kept": Broken("here")})
    if trained:
        run.train(2)
    before = run.everything()
    with pytest.raises(
        CheckpointError, match=r"was not loaded: also\['kept'\]: KeyError: 'something of mine'"
    ) as caught:
        run.saved.resume()
    run.saved.close()
    assert isinstance(caught.value.__cause__, KeyError)
    assert same(before, run.everything())


def test_what_cannot_be_brought_back_is_named(folder: Path) -> None:
    run = Run(folder, 2, also={"kept": Mute("here")})
    before = run.net[0].weight.clone()
    with pytest.raises(CheckpointError, match=r"also\['kept'\] cannot be brought back"):
        run.saved.resume()
    run.saved.close()
    assert torch.equal(before, run.net[0].weight)


@pytest.mark.parametrize("part", ["optimizer", "scheduler", "scaler", "net", "cursor"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_wherever_it_raises(folder: Path, monkeypatch: pytest.MonkeyPatch, part: str, error: type) -> None:
    """Once: what brings things back is not struck again."""
    run = Run(folder, 2)
    run.train(2)
    before, thing, left = run.everything(), getattr(run, part), [1]
    usual = thing.load_state_dict

    def load_state_dict(*args, **kwargs):
        usual(*args, **kwargs)
        if left.pop() if left else 0:
            raise error("injected")

    monkeypatch.setattr(thing, "load_state_dict", load_state_dict)
    with pytest.raises(CheckpointError if error is ValueError else error, match="injected"):
        run.saved.resume()
    monkeypatch.undo()
    run.saved.close()
    assert same(before, run.everything())


def test_after_all_of_it_everything_is_as_it_was_saved(folder: Path) -> None:
    first, run = Run(folder, 1), Run(folder, 2)
    for one in (first, run):
        assert one.saved.resume()
        one.saved.close()
        one.train(6)
    assert run.sigma.item() != 2.0
    assert run.also["kept"].value == "saved"
    assert same(first.everything(), run.everything())
