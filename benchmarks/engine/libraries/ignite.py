"""Ignite's `supervised_training_step(gradient_accumulation_steps=4)`. One optimizer; a GAN is a loop of one's own."""

import copy

import torch
from ignite.engine import Engine, Events, supervised_training_step
from onehot import EIGHT, ONE_BROKEN, ONE_NAN, TEN, UNEQUAL, Broken, Probe, Recorder

NAME = "ignite"


def _engine(dtype=torch.float64, schedule=False):
    model = Probe(dtype)
    optimizer = Recorder(model.parameters())

    def loss(out, batch):
        if batch["kind"] == "broken":
            raise Broken
        return out.mean() * (float("nan") if batch["kind"] == "nan" else 1.0)

    def prepare(batch, device=None, non_blocking=False):
        return batch["x"], batch

    update = supervised_training_step(model, optimizer, loss, prepare_batch=prepare, gradient_accumulation_steps=4)

    def careful(engine, batch):
        try:
            return update(engine, batch)
        except Broken:
            return None

    engine = Engine(careful)
    if schedule:
        moves = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        engine.add_event_handler(Events.ITERATION_COMPLETED(every=4), lambda _: moves.step())
    return model, optimizer, engine


def unequal():
    _, optimizer, engine = _engine()
    engine.run(UNEQUAL, max_epochs=1)
    return optimizer.log


def tail():
    _, optimizer, engine = _engine()
    engine.run(TEN, max_epochs=2)
    return optimizer.log


def failure():
    _, optimizer, engine = _engine()
    engine.run(ONE_BROKEN, max_epochs=1)
    return optimizer.log


def not_finite():
    model, optimizer, engine = _engine(torch.float32, schedule=True)
    engine.run(ONE_NAN, max_epochs=1)
    return bool(torch.isfinite(model.w).all()), optimizer.param_groups[0]["lr"]


def resume():
    whole, _, engine = _engine()
    engine.run(EIGHT, max_epochs=1)
    begun, _, engine = _engine()
    engine.run(EIGHT[:2], max_epochs=1)
    resumed, _, engine = _engine()
    resumed.load_state_dict(copy.deepcopy(begun.state_dict()))
    engine.load_state_dict({"iteration": 2, "epoch_length": 8, "max_epochs": 1})
    engine.run(iter(EIGHT[2:]), max_epochs=1, epoch_length=8)
    return torch.equal(whole.w, resumed.w)
