"""A schedule that moves before its optimizer has ever stepped is found, whosever it is and whenever that is."""

from source.execute.reading import certain

MADE = """\
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
"""


def test_the_first_time_an_arm_is_taken() -> None:
    body = """
def train(model, loader, epochs):
    warm = torch.optim.Adam(model.head.parameters())
    joint = torch.optim.Adam(model.parameters())
    schedule = StepLR(joint, 5)
    for epoch in range(epochs):
        if epoch < 5:
            run(model, loader, warm)
        else:
            schedule.step()
            run(model, loader, joint)


def run(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
"""
    assert certain(body, made=MADE) == ["ZG301"]
    before = body.replace("    for epoch", "    run(model, loader, joint)\n    for epoch")
    assert certain(before, made=MADE) == []
    unseen = body.replace("    for epoch", "    prepare(joint)\n    for epoch").replace(
        "\ndef", "\nfrom lib import prepare\n\n\ndef", 1
    )
    assert certain(unseen, made=MADE) == []


def test_whosever_the_schedule_is() -> None:
    body = """
def train(model, loader, one, other, which):
    schedule = StepLR((one, other)[which], 5)
    for epoch in range(9):
        schedule.step()
        for x in loader:
            one.zero_grad()
            other.zero_grad()
            model(x).mean().backward()
            one.step()
            other.step()
"""
    assert certain(body, made=MADE) == ["ZG301"]
    elsewhere = body.replace("            other.step()\n", "")
    assert certain(elsewhere, made=MADE) == []


def test_a_given_schedule_is_judged_if_it_is_one_of_torch() -> None:
    body = """
def train(model, loader, optimizer, schedule):
    for epoch in range(9):
        schedule.step()
        print(schedule.{field})
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
"""
    renamed = body.replace("schedule.", "thing.").replace("schedule)", "thing)")
    assert certain(renamed.format(field="T_cur"), made=MADE) == ["ZG301"]
    assert certain(renamed.format(field="width"), made=MADE) == []
