"""zerograd.Step."""

import copy

import torch
from onehot import EIGHT, ONE_BROKEN, ONE_NAN, SIZE, TEN, UNEQUAL, Broken, Probe, Recorder, loss_of, micro_batch
from torch import nn

from zerograd import Step, groups

NAME = "Step"


def _accumulate(batches, *, epochs=1, dtype=torch.float64, schedule=False, model=None, state=None, save_at=None):
    model = model or Probe(dtype)
    optimizer = Recorder(model.parameters())
    moves = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5) if schedule else None
    step, saved, done = Step(optimizer, scheduler=moves), None, 0
    if state is not None:
        step.load_state_dict(state)
    for _ in range(epochs):
        for group in groups(batches, 4, begun=step.in_flight):
            try:
                with step:
                    for batch in step.micro_batches(group, weight=lambda batch: batch["rows"]):
                        step.backward(loss_of(model, batch))
                        done += 1
                        if done == save_at:
                            saved = copy.deepcopy((model.state_dict(), step.state_dict(inflight="include")))
            except Broken:
                pass
    return model, optimizer, saved


def unequal():
    return _accumulate(UNEQUAL)[1].log


def tail():
    return _accumulate(TEN, epochs=2)[1].log


def failure():
    return _accumulate(ONE_BROKEN)[1].log


def not_finite():
    model, optimizer, _ = _accumulate(ONE_NAN, dtype=torch.float32, schedule=True)
    return bool(torch.isfinite(model.w).all()), optimizer.param_groups[0]["lr"]


def gan():
    generator, judge = nn.Linear(SIZE, SIZE, bias=False).double(), Probe()
    nn.init.eye_(generator.weight)
    ours, theirs = torch.optim.SGD(generator.parameters(), lr=0.0), Recorder(judge.parameters(), lr=0.0)
    step_g, step_d = Step(ours), Step(theirs)
    for place in range(4):
        x = micro_batch(place, 1)["x"].double()
        with step_d:
            step_d.backward(judge(x).mean())
        with step_g:
            step_g.backward(100 * judge(generator(x)).mean())
    return theirs.log


def resume():
    whole, _, _ = _accumulate(EIGHT)
    _, _, (weights, state) = _accumulate(EIGHT, save_at=2)
    resumed = Probe()
    resumed.load_state_dict(weights)
    _accumulate(EIGHT[2:], model=resumed, state=state)
    return torch.equal(whole.w, resumed.w)
