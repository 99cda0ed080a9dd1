"""A run that is interrupted ends with the weights of one that is not; what is damaged is never loaded."""

import builtins
import errno
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from engine.checkpoint.interrupted import run
from engine.ranks.company import names_of, told_by
from zerograd import CheckpointError, Checkpoints, Cursor, Step, StepError, groups
from zerograd.engine.checkpoint import folder
from zerograd.engine.checkpoint.stopping import STOPPED

RANKS = "engine.checkpoint.rank_checks"
DAMAGES = int(os.environ.get("ZEROGRAD_DAMAGES", "40"))
DATA = TensorDataset(torch.randn(38, 4, generator=torch.Generator().manual_seed(3)))


def make(path: Path, **options):
    torch.manual_seed(0)
    random.seed(0)
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.3), nn.Linear(6, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
    step = Step(optimizer, clip=1.0, scheduler=schedule, scaler=scaler)
    cursor = Cursor(DataLoader(DATA, batch_size=3, shuffle=True))
    return net, step, cursor, Checkpoints(path, step, model=net, loader=cursor, **{"every": 2, **options})


def train(path: Path, *, stop: int | None = None, inside: tuple[int, int] | None = None):
    made = make(path)
    seen, ended = run(*made, size=4, stop=stop, inside=inside)
    return seen, list(made[0].state_dict().values()) if ended else None


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("point", [(0, 0), (1, 1), (2, 3), (3, 0), (5, 2)])
def test_interrupted_anywhere(whole, tmp_path: Path, point: tuple[int, int]) -> None:
    """In the last group of an epoch too, which is smaller."""
    seen, weights = whole
    first, _ = train(tmp_path, inside=point)
    second, _ = train(tmp_path, stop=point[0] + 2)
    third, _ = train(tmp_path)
    resumed = train(tmp_path)  # once more, from the very end
    assert first == seen[: len(first)]
    assert [*first, *second, *third] == seen or second + third == seen[len(first) :]
    assert all(torch.equal(one, other) for one, other in zip(weights, resumed[1], strict=True))


def test_saved_again_before_it_goes_on(whole, tmp_path: Path) -> None:
    """What had been deposited is still there, and the data is where it was."""
    seen, weights = whole
    first, _ = train(tmp_path, inside=(2, 2))
    *_, saved = make(tmp_path)
    assert saved.resume()
    saved.save()
    saved.close()
    rest, resumed = train(tmp_path)
    assert first + rest == seen
    assert all(map(torch.equal, weights, resumed))


def test_inside_a_block_nothing_is_loaded(tmp_path: Path) -> None:
    net, step, _, saved = make(tmp_path)
    saved.save()
    with torch.no_grad():
        net[0].weight += 1  # as if it had been trained
    before = net[0].weight.clone()
    with pytest.raises(StepError, match="inside the block"), step:
        saved.resume()
    saved.close()
    assert torch.equal(before, net[0].weight)


def test_only_the_last_are_kept(tmp_path: Path) -> None:
    train(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def _image_net(seed: int, order: str) -> nn.Module:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(16, 6), nn.Linear(6, 1))
    if order == "transposed":
        net[2].weight = nn.Parameter(torch.randn(16, 6).t())
    return net.to(memory_format=torch.channels_last) if order == "channels_last" else net


OPTIMIZERS = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, fused=True),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, fused=True),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=0.01, fused=True),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(
    ("saved", "resumed"),
    [
        ("channels_last", "channels_last"),
        ("transposed", "transposed"),
        ("usual", "channels_last"),
        ("usual", "transposed"),
        ("channels_last", "usual"),
    ],
)
def test_state_lies_in_memory_as_its_parameter_does(
    tmp_path: Path, saved: str, resumed: str, optimizer: str, inside: bool
) -> None:
    """A fused optimizer goes through both as they lie, and would take one weight's state for another's."""
    images = torch.randn(4, 3, 4, 4, generator=torch.Generator().manual_seed(3))

    def made(seed: int, order: str):
        net = _image_net(seed, order)
        step = Step(OPTIMIZERS[optimizer](net.parameters()))
        return net, step, Checkpoints(tmp_path, step, model=net)

    def finish(net: nn.Module, step: Step) -> None:
        for _ in range(2):
            with step:
                step.backward(net(images).square().mean())

    net, step, checkpoints = made(0, saved)
    finish(net, step)
    with step:
        if inside:
            step.backward(net(images).mean())
            checkpoints.save()
        step.backward(net(images).square().mean())
    if not inside:
        checkpoints.save()
    finish(net, step)
    checkpoints.close()

    again, later, checkpoints = made(1, resumed)
    assert checkpoints.resume()
    checkpoints.close()
    for parameter, state in later.optimizers[0].state.items():
        strides = {value.stride() for value in state.values() if value.shape == parameter.shape}
        assert strides == {parameter.stride()}
    if inside:
        with later:
            later.backward(again(images).square().mean())
    finish(again, later)
    for one, other in zip(net.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(
            one, other, rtol=0 if saved == resumed else 1e-4, atol=0 if saved == resumed else 1e-6
        )


def test_nothing_to_resume(tmp_path: Path) -> None:
    *_, saved = make(tmp_path)
    assert not saved.resume()
    with pytest.raises(CheckpointError, match="there is no checkpoint 00000007"):
        saved.resume("00000007")
    saved.close()


def test_damage_is_never_loaded(tmp_path: Path) -> None:
    """Truncated, bit-flipped, missing: the one before is taken, and if there is none, nothing is."""
    train(tmp_path / "good", stop=4)
    chance = random.Random(0)
    for _ in range(DAMAGES):
        shutil.rmtree(tmp_path / "bad", ignore_errors=True)
        shutil.copytree(tmp_path / "good", tmp_path / "bad")
        names = sorted(path.name for path in (tmp_path / "bad").iterdir())
        _damage(chance, tmp_path / "bad" / names[-1])
        both = chance.random() < 0.3
        if both:
            _damage(chance, tmp_path / "bad" / names[-2])
        net, step, _, saved = make(tmp_path / "bad")
        before = [value.clone() for value in net.state_dict().values()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if both:
                with pytest.raises(CheckpointError, match="every checkpoint is damaged"):
                    saved.resume()
                assert all(
                    torch.equal(one, other) for one, other in zip(before, net.state_dict().values(), strict=True)
                )
            else:
                assert saved.resume()
                assert step.committed == 2
        with pytest.raises(CheckpointError, match="is damaged"):
            saved.resume(names[-1])
        saved.close()


def _damage(chance: random.Random, folder: Path) -> None:
    victim = chance.choice(sorted(folder.iterdir()))
    data = bytearray(victim.read_bytes())
    match chance.choice(["truncated", "flipped", "missing", "emptied", "longer"]):
        case "truncated":
            data = data[: chance.randrange(len(data))]
        case "flipped":
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case "missing":
            victim.unlink()
            return
        case "emptied":
            data = bytearray()
        case "longer":
            data += b"\0"
    victim.write_bytes(data)


def test_another_model_is_refused_before_anything_is_touched(tmp_path: Path) -> None:
    train(tmp_path, stop=2)
    net = nn.Sequential(nn.Linear(4, 7), nn.BatchNorm1d(7), nn.Dropout(0.3), nn.Linear(7, 1))
    before = net[0].weight.clone()
    step = Step(torch.optim.AdamW(net.parameters()), scaler=torch.amp.GradScaler("cpu"))
    saved = Checkpoints(tmp_path, step, model=net)
    with pytest.raises(CheckpointError, match="this run has 0"):
        saved.resume()
    saved.close()
    assert torch.equal(before, net[0].weight)


def test_what_cannot_be_kept_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    class Odd:
        def state_dict(self):
            return {"secret": object()}

        def load_state_dict(self, state): ...

    net = nn.Linear(2, 1)
    saved = Checkpoints(tmp_path, Step(torch.optim.SGD(net.parameters())), model=net, also={"odd": Odd()})
    with pytest.raises(CheckpointError, match="also/odd/secret is a object"):
        saved.save()
    assert not saved.resume()
    saved.close()
    with pytest.raises(CheckpointError, match="does not know where it is"):
        Checkpoints(tmp_path, Step(torch.optim.SGD(net.parameters())), model=net, loader=[1])


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata asks torch for it
def test_torchdatas_loader_knows_where_it_is(tmp_path: Path) -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    net = nn.Linear(4, 1)

    def run(count: int) -> list[float]:
        loader = stateful(DATA, batch_size=4)
        step = Step(torch.optim.SGD(net.parameters(), lr=0.01))
        saved = Checkpoints(tmp_path, step, model=net, loader=loader, every=1)
        saved.resume()
        seen = []
        for (batch,) in loader:
            with step:
                step.backward(net(batch).mean())
            seen += batch.sum(1).tolist()
            saved.keep_up()
            if len(seen) >= count * 4:
                break
        saved.close()
        return seen

    assert [*run(2), *run(3), *run(99)] == DATA.tensors[0].sum(1).tolist()


STRUCK = [(os, "fsync"), (os, "mkdir"), (os, "rename"), (os, "open"), (builtins, "open"), (io, "open")]


@pytest.mark.filterwarnings("ignore:zerograd. checkpoint .* cannot be deleted")
def test_whatever_the_disk_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every call that goes to the disk: an ordinary error with its cause; what was there is whole; life goes on."""
    *_, saved = make(tmp_path, keep=2)
    saved.save()
    for number in range(99):
        left, before = [number + 1], sorted(tmp_path.iterdir())
        for owner, name in STRUCK:
            monkeypatch.setattr(owner, name, _counted(getattr(owner, name), left, tmp_path))
        try:
            saved.save()
        except Exception as error:
            failed = error
        else:
            failed = None
        monkeypatch.undo()
        if left[0] > 0:
            break
        if failed is None:  # what is left to do then is to delete old ones
            continue
        assert isinstance(failed, CheckpointError), failed
        assert isinstance(failed.__cause__, OSError), failed.__cause__
        assert "No space left on device" in str(failed)
        assert sorted(tmp_path.iterdir()) == before
        assert saved.resume()
    saved.close()
    assert number > 12  # so many calls it takes


def _counted(function, left: list[int], folder: Path):
    def call(*args, **kwargs):
        if isinstance(args[0], int) or str(folder) in str(args[0]):
            left[0] -= 1
            if not left[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
        return function(*args, **kwargs)

    return call


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_who_leaves_while_it_saves_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type) -> None:
    """Ctrl-C is Ctrl-C, inside torch's own saving too; and nothing half-done remains."""
    *_, saved = make(tmp_path)

    def struck(*args: object) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", struck)
    with pytest.raises(error):
        saved.save()
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    saved.save()
    saved.close()


def test_the_format_of_another_version_is_refused_not_passed_over(tmp_path: Path) -> None:
    net, _, _, saved = make(tmp_path)
    saved.save()
    path = saved.save()
    before = net[0].weight.clone()
    for text, what in (({"ranks": 1}, "of an earlier zerograd"), ({"format": 99}, "in format 99")):
        (path / "common.json").write_text(json.dumps(text))
        saved._folder.finish(path, folder.sums_of(path))  # as whole as any
        path = tmp_path / saved._folder.names()[-1]
        with pytest.raises(CheckpointError, match=what):
            saved.resume()
    assert torch.equal(before, net[0].weight)
    saved.close()


def test_a_checkpoint_without_a_place_in_the_data(tmp_path: Path) -> None:
    net, step, _, saved = make(tmp_path)
    saved.close()
    other = Checkpoints(tmp_path, step, model=net)
    other.save()
    other.close()
    with pytest.warns(RuntimeWarning, match="the data begins anew: the checkpoint was saved without loader="):
        assert saved.resume()


PROGRAM = """
import os, signal, sys, torch
from torch import nn
from zerograd import Checkpoints, Step
net = nn.Linear(2, 1)
step = Step(torch.optim.SGD(net.parameters(), lr=0.1))
saved = Checkpoints(sys.argv[1], step, model=net)
print(saved.resume(), step.committed, flush=True)
for number in range(5):
    with step:
        step.backward(net(torch.ones(1, 2)).sum())
        if number == 2:
            os.kill(os.getpid(), signal.SIGTERM)
    saved.keep_up()
"""


def test_sigterm_finishes_the_step_saves_and_leaves(tmp_path: Path) -> None:
    for want in ("False 0\n", "True 3\n"):
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (STOPPED, want), done.stderr
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_two_ranks(tmp_path: Path) -> None:
    assert told_by(RANKS, tmp_path, ranks=2) == {name: ["ok"] * 2 for name in names_of(RANKS)}


class _Stopped(Exception):
    pass


def _counted_batches(path: Path, go_over, *, size: int = 1, stop: int | None = None) -> tuple[list[int], nn.Module]:
    """The first column of all that is trained on, in groups of 4; stopped behind so many, having saved inside."""
    torch.manual_seed(0)
    net = nn.Linear(2, 1)
    step = Step(torch.optim.SGD(net.parameters(), lr=1e-3))
    cursor = Cursor(DataLoader(TensorDataset(torch.arange(24.0).reshape(12, 2)), batch_size=size))
    saved, seen = Checkpoints(path, step, model=net, loader=cursor), []
    try:
        saved.resume()
        for group in groups(cursor, 4, begun=step.in_flight):
            with step:
                for batch in go_over(step, group):
                    seen.append(int(batch[0, 0]) // 2)
                    if seen[-1] % 4 != 1:  # some are left out
                        step.backward(net(batch).square().mean())
                    if len(seen) == stop:
                        saved.save()
                        raise _Stopped
    except _Stopped:
        pass
    finally:
        saved.close()
    return seen, net


def _two_loops(step: Step, group: list):
    for half in (group[:2], group[2:]):
        yield from (batch for (batch,) in step.micro_batches(half))


LOOPS = {
    "list": lambda step, group: (batch for (batch,) in step.micro_batches(group)),
    "zip": lambda step, group: (batch for (batch,), _ in step.micro_batches(zip(group, group, strict=True))),
    "enumerate": lambda step, group: (batch for _, (batch,) in step.micro_batches(enumerate(group))),
    "generator": lambda step, group: step.micro_batches(batch for (batch,) in group),
    "two loops": _two_loops,
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("stop", [1, 3, 4, 5, 7, 12])
def test_saved_inside_whatever_the_loop_goes_over(tmp_path: Path, loop: str, stop: int) -> None:
    """Nothing is left out, nothing comes twice, and groups are cut where they were."""
    seen, net = _counted_batches(tmp_path / "whole", LOOPS[loop])
    first, _ = _counted_batches(tmp_path / "parts", LOOPS[loop], stop=stop)
    second, resumed = _counted_batches(tmp_path / "parts", LOOPS[loop])
    assert seen == list(range(12))
    assert first + second == seen
    assert torch.equal(net.weight, resumed.weight)


REFUSED = {
    "parts": lambda step, group: step.micro_batches([part for (batch,) in group for part in batch.split(1)]),
    "one part": lambda step, group: step.micro_batches([batch[:1] for (batch,) in group]),
    "copies": lambda step, group: step.micro_batches(batch * 1 for (batch,) in group),
    "another order": lambda step, group: (batch for (batch,) in step.micro_batches(group[::-1])),
}


@pytest.mark.parametrize("loop", REFUSED)
@pytest.mark.parametrize("stop", [1, 2])
def test_saved_inside_where_nobody_can_tell_what_is_to_come(tmp_path: Path, loop: str, stop: int) -> None:
    with pytest.raises(CheckpointError, match="not the Cursor's batches, one by one and in order"):
        _counted_batches(tmp_path, REFUSED[loop], size=2, stop=stop)
    assert not any(tmp_path.iterdir())


def _one_step(tmp_path: Path):
    net = nn.Linear(2, 1)
    step = Step(torch.optim.SGD(net.parameters(), lr=1e-3))
    cursor = Cursor(DataLoader(TensorDataset(torch.arange(24.0).reshape(12, 2)), batch_size=3))
    return net, step, cursor, Checkpoints(tmp_path, step, model=net, loader=cursor)


def test_saved_before_the_first_deposit(tmp_path: Path) -> None:
    """The batch is not used yet."""
    _, step, cursor, saved = _one_step(tmp_path)
    for _ in cursor:
        with step:
            saved.save()
            step.abort()
        break
    saved.close()
    _, _, again, saved = _one_step(tmp_path)
    assert saved.resume()
    saved.close()
    assert next(iter(again))[0][0, 0] == 0


def test_saved_behind_a_deposit_of_no_micro_batch(tmp_path: Path) -> None:
    net, step, cursor, saved = _one_step(tmp_path)
    (batch,) = next(iter(cursor))
    with pytest.raises(CheckpointError, match=r"deposited outside of micro_batches\(\)"), step:
        step.backward(net(batch).square().mean())
        saved.save()
    saved.close()


def test_saved_in_a_group_of_two_epochs(tmp_path: Path) -> None:
    net, step, cursor, saved = _one_step(tmp_path)
    batches = (batch for _ in range(2) for (batch,) in cursor)
    with pytest.raises(CheckpointError, match="began in the epoch before"):
        for group in groups(batches, 3):
            with step:
                for batch in step.micro_batches(group):
                    if cursor.epoch == 1:
                        saved.save()
                    step.backward(net(batch).square().mean())
    saved.close()
