"""Hugging Face Accelerate: `with accelerator.accumulate(model)`, as its guide writes it."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from onehot import EIGHT, ONE_BROKEN, ONE_NAN, SIZE, TEN, UNEQUAL, Broken, Probe, Recorder, loader, loss_of, micro_batch
from torch import nn

NAME = "Accelerate"


def _accelerator(steps=4):
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    return Accelerator(cpu=True, gradient_accumulation_steps=steps)


def _accumulate(batches, *, epochs=1, dtype=torch.float64, schedule=False, folder=None, save_at=None, resume_at=None):
    accelerator, model = _accelerator(), Probe(dtype)
    recorder = Recorder(model.parameters())
    moves = torch.optim.lr_scheduler.StepLR(recorder, 1, 0.5)
    net, optimizer, data, moves = accelerator.prepare(model, recorder, loader(batches), moves)
    if resume_at is not None:
        accelerator.load_state(folder)
        data = accelerator.skip_first_batches(data, resume_at)
    for _ in range(epochs):
        for number, batch in enumerate(data, 1):
            try:
                with accelerator.accumulate(net):
                    accelerator.backward(loss_of(net, batch))
                    optimizer.step()
                    if schedule:
                        moves.step()
                    optimizer.zero_grad()
            except Broken:
                optimizer.zero_grad()
            if number == save_at:
                accelerator.save_state(folder)
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
    accelerator = _accelerator(1)
    generator, judge = nn.Linear(SIZE, SIZE, bias=False).double(), Probe()
    nn.init.eye_(generator.weight)
    recorder = Recorder(judge.parameters(), lr=0.0)
    ours = torch.optim.SGD(generator.parameters(), lr=0.0)
    generator, judge, ours, theirs = accelerator.prepare(generator, judge, ours, recorder)
    for place in range(4):
        x = micro_batch(place, 1)["x"].double()
        with accelerator.accumulate(generator, judge):
            accelerator.backward(judge(x).mean())
            theirs.step()
            theirs.zero_grad()
            accelerator.backward(100 * judge(generator(x)).mean())
            ours.step()
            ours.zero_grad()
    return recorder.log


def resume():
    whole, _ = _accumulate(EIGHT)
    with tempfile.TemporaryDirectory() as folder:
        _accumulate(EIGHT, folder=folder, save_at=2)
        resumed, _ = _accumulate(EIGHT, folder=folder, resume_at=2)
    return torch.equal(whole.w, resumed.w)
