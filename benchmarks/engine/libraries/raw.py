"""Plain PyTorch, as tutorials write it: the loss divided by N, a step every N micro-batches."""

import copy

import torch
from onehot import EIGHT, ONE_BROKEN, ONE_NAN, SIZE, TEN, UNEQUAL, Broken, Probe, Recorder, loss_of, micro_batch
from torch import nn

NAME = "plain PyTorch"


def _accumulate(batches, *, epochs=1, dtype=torch.float64, schedule=False, model=None, optimizer=None, start=0):
    model = model or Probe(dtype)
    optimizer = optimizer or Recorder(model.parameters())
    moves = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5) if schedule else None
    for _ in range(epochs):
        for number, batch in enumerate(batches, start):
            try:
                (loss_of(model, batch) / 4).backward()
            except Broken:
                continue
            if (number + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
                if moves is not None:
                    moves.step()
    return model, optimizer


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
    generator, judge = nn.Linear(SIZE, SIZE, bias=False).double(), Probe()
    nn.init.eye_(generator.weight)
    ours, theirs = torch.optim.SGD(generator.parameters(), lr=0.0), Recorder(judge.parameters(), lr=0.0)
    for place in range(4):
        x = micro_batch(place, 1)["x"].double()
        judge(x).mean().backward()
        theirs.step()
        theirs.zero_grad()
        (100 * judge(generator(x)).mean()).backward()
        ours.step()
        ours.zero_grad()
    return theirs.log


def resume():
    whole, _ = _accumulate(EIGHT)
    model, _ = _accumulate(EIGHT[:2])
    saved = copy.deepcopy(model.state_dict())  # .grad is in nobody's state_dict
    resumed = Probe()
    resumed.load_state_dict(saved)
    _accumulate(EIGHT[2:], model=resumed, start=2)
    return torch.equal(whole.w, resumed.w)
