"""Means that are added up in a loop of their own: certain where the program calls their number accumulation."""

import pytest

from rules.programs import Program, audited_in_full

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
accum_steps = tasks = 4
"""
LOOP = """\
for _ in range(4):
    for _ in range(accum_steps):
        loss = nn.functional.mse_loss(model(torch.randn(6, 4)), torch.randn(6, 1))
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ADDED = LOOP.replace("loss.backward()", "loss.backward()  # error: [ZG101]")
DIVIDED = {
    "the loss": LOOP.replace("loss.backward()", "(loss / accum_steps).backward()"),
    "the seed": LOOP.replace("loss.backward()", "loss.backward(torch.tensor(1 / accum_steps))"),
    "the gradients": LOOP.replace("    optimizer.step()", "    model.weight.grad.div_(4)\n    optimizer.step()"),
    "hooks of gradients": "for p in model.parameters():\n    p.register_hook(lambda g: g / accum_steps)\n" + LOOP,
    "a hook of the step": "optimizer.register_step_pre_hook(lambda *_: (model.weight.grad.div_(4), None)[1])\n" + LOOP,
    "nobody, but it is a sum": LOOP.replace("torch.randn(6, 1))", "torch.randn(6, 1), reduction='sum')"),
    "nobody, but they are tasks": LOOP.replace("accum_steps", "tasks"),
}


def test_nobody_divides() -> None:
    program = Program("added", HEAD + ADDED)
    assert audited_in_full(program) == program.expected_in_run


@pytest.mark.parametrize("text", DIVIDED.values(), ids=DIVIDED)
def test_somebody_divides(text: str) -> None:
    head = HEAD.replace("accum_steps = tasks", "tasks") if "accum_steps" not in text else HEAD
    assert audited_in_full(Program("divided", head + text)) == set()


UNEQUAL = """\
for _ in range(4):
    for i, count in enumerate(counts):
        loss = nn.functional.mse_loss(model(torch.randn(count, 4)), torch.randn(count, 1)) / 2
        loss.backward()MARK
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("counts", "mark"), [([6, 6, 6, 4], ""), ([6, 4, 4, 6], "  # error: [ZG104]")], ids=["a tail", "anywhere"]
)
def test_the_last_batch_of_every_epoch_may_be_smaller(counts: list[int], mark: str) -> None:
    program = Program("unequal", f"{HEAD}counts = {counts}\n{UNEQUAL.replace('MARK', mark)}")
    assert audited_in_full(program) == program.expected_in_run
