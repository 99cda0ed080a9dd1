"""Lightning Fabric: the loop is yours; `no_backward_sync`, the loss divided by N, a step every N micro-batches."""

import tempfile

import torch
from lightning.fabric import Fabric
from onehot import EIGHT, ONE_BROKEN, ONE_NAN, SIZE, TEN, UNEQUAL, Broken, Probe, Recorder, loader, loss_of, micro_batch
from torch import nn

NAME = "Fabric"


def _accumulate(batches, *, epochs=1, dtype=torch.float64, schedule=False, path=None, save_at=None, resume=False):
    fabric, model = Fabric(accelerator="cpu", devices=1), Probe(dtype)
    recorder = Recorder(model.parameters())
    moves = torch.optim.lr_scheduler.StepLR(recorder, 1, 0.5)
    net, optimizer = fabric.setup(model, recorder)
    data = fabric.setup_dataloaders(loader(batches))
    state = {"model": net, "optimizer": optimizer, "done": 0}
    if resume:
        fabric.load(path, state)
    for _ in range(epochs):
        for number, batch in enumerate(data):
            if resume and number < state["done"]:
                continue
            accumulating = (number + 1) % 4 != 0
            try:
                with fabric.no_backward_sync(net, enabled=accumulating):
                    fabric.backward(loss_of(net, batch) / 4)
            except Broken:
                continue
            if not accumulating:
                optimizer.step()
                optimizer.zero_grad()
                if schedule:
                    moves.step()
            if number + 1 == save_at:
                fabric.save(path, {**state, "done": save_at})
                return model, recorder
    return model, recorder


def unequal():
    return _accumulate(UNEQUAL)[1].log


def tail():
    return _accumulate(TEN, epochs=2)[1].log


def failure():
    return _accumulate(ONE_BROKEN)[1].log


def not_finite():
    model, optimizer = _accumulate(ONE_NAN, dtype=torch.float32, schedule=True)
    return bool(torch.isfinite(model.w).all()), optimizer.param_groups[0]["lr"]


def gan():
    fabric = Fabric(accelerator="cpu", devices=1)
    generator, judge = nn.Linear(SIZE, SIZE, bias=False).double(), Probe()
    nn.init.eye_(generator.weight)
    recorder = Recorder(judge.parameters(), lr=0.0)
    generator, ours = fabric.setup(generator, torch.optim.SGD(generator.parameters(), lr=0.0))
    judge, theirs = fabric.setup(judge, recorder)
    for place in range(4):
        x = micro_batch(place, 1)["x"].double()
        fabric.backward(judge(x).mean())
        theirs.step()
        theirs.zero_grad()
        fabric.backward(100 * judge(generator(x)).mean())
        ours.step()
        ours.zero_grad()
    return recorder.log


def resume():
    whole, _ = _accumulate(EIGHT)
    with tempfile.TemporaryDirectory() as folder:
        _accumulate(EIGHT, path=f"{folder}/state.pt", save_at=2)
        resumed, _ = _accumulate(EIGHT, path=f"{folder}/state.pt", resume=True)
    return torch.equal(whole.w, resumed.w)
