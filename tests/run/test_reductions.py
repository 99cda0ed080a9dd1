"""Means that are added up in a loop of their own: certain where the program calls their number accumulation."""

import pytest

from rules.programs import Program, audited_in_full
from zerograd.run import reductions

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
heads = nn.ModuleList([nn.Linear(4, 1) for _ in range(4)])
optimizer = torch.optim.SGD([*model.parameters(), *heads.parameters()], lr=0.01)
share, k = torch.full((6, 1), 1 / 4), 0
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
OUT = "model(torch.randn(6, 4))"
MSE = f"nn.functional.mse_loss({OUT}, torch.randn(6, 1))"
WEIGHTED = f"nn.functional.binary_cross_entropy_with_logits({OUT}, torch.rand(6, 1), weight=share)"
ADDED = LOOP.replace("loss.backward()", "loss.backward()  # error: [ZG101]")
DIVIDED = {
    "the loss": LOOP.replace("loss.backward()", "(loss / accum_steps).backward()"),
    "the seed": LOOP.replace("loss.backward()", "loss.backward(torch.tensor(1 / accum_steps))"),
    "the gradients": LOOP.replace("    optimizer.step()", "    model.weight.grad.div_(4)\n    optimizer.step()"),
    "hooks of gradients": "for p in model.parameters():\n    p.register_hook(lambda g: g / accum_steps)\n" + LOOP,
    "a hook of the step": "optimizer.register_step_pre_hook(lambda *_: (model.weight.grad.div_(4), None)[1])\n" + LOOP,
    "nobody, but it is a sum": LOOP.replace("torch.randn(6, 1))", "torch.randn(6, 1), reduction='sum')"),
    "nobody, but they are tasks": LOOP.replace("accum_steps", "tasks"),
    "nobody, but each has parameters of its own": LOOP.replace("model(", "heads[k := (k + 1) % 4]("),
    "weights that sum to 1 over the group": LOOP.replace(MSE, WEIGHTED),
    "weights by hand": LOOP.replace(MSE, f"(share * {OUT}**2).mean()"),
    "a factor inside the square": LOOP.replace(MSE, f"({OUT} * 0.5).square().mean()"),
    "zeros beside it": LOOP.replace(MSE, f"torch.cat([{OUT}, torch.zeros(18, 1)]).square().mean()"),
}


MEANS = {
    "mse": MSE,
    "by hand": f"({OUT} - torch.randn(6, 1)).pow(2).mean()",
    "of a sigmoid": f"nn.functional.l1_loss(torch.sigmoid({OUT}.view(-1)), torch.rand(6))",
    "of classes": f"nn.functional.cross_entropy(nn.Linear(1, 3)({OUT}), torch.arange(6) % 3, weight=torch.ones(3))",
}


@pytest.mark.parametrize("loss", MEANS.values(), ids=MEANS)
def test_nobody_divides(loss: str) -> None:
    program = Program("added", HEAD + ADDED.replace(MSE, loss))
    assert audited_in_full(program) == program.expected_in_run


def test_nobody_divides_after_steps_of_one_batch_each() -> None:
    single = "for _ in range(4):\n    nn.functional.mse_loss(model(torch.randn(6, 4)), torch.randn(6, 1)).backward()\n"
    single += "    optimizer.step()\n    optimizer.zero_grad()\n"
    program = Program("added later", HEAD + single + ADDED.replace("range(4)", "range(6)", 1))
    assert audited_in_full(program) == program.expected_in_run


def test_the_graph_of_a_loss_that_has_a_step_of_its_own_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(reductions, "is_bare", lambda loss: asked.append(loss))
    assert not audited_in_full(Program("single", HEAD + LOOP.replace("accum_steps):", "1):", 1).replace("4)", "9)", 1)))
    assert len(asked) < 4


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


TASKS = """\
for _ in range(4):
    for head, count in zip(heads, (4, 6, 8, 8)):
        loss = nn.functional.mse_loss(head(model(torch.randn(count, 4)).expand(-1, 4)), torch.randn(count, 1)) / 4
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_tasks_weigh_what_they_weigh_however_many_items_they_have() -> None:
    one_head = HEAD.replace("accum_steps = tasks", "tasks") + TASKS.replace("head(", "heads[0](")
    assert audited_in_full(Program("tasks", HEAD + TASKS)) == set()
    assert audited_in_full(Program("domains", one_head)) == set()
