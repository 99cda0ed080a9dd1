"""A clip of what the next step does not hold is found, unless somebody else may use it."""

from source.execute.reading import certain

NETS = """\
import copy

import torch
from torch import nn
"""
TEACHER = """
def train(student, loader):
    teacher = copy.deepcopy(student)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for x in loader:
        optimizer.zero_grad()
        (student(x) - teacher(x)).square().mean().backward()
        nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
        optimizer.step()
"""


def test_the_teacher_is_clipped_and_the_student_stepped() -> None:
    assert certain(TEACHER, made=NETS) == ["ZG302"]
    assert certain(TEACHER.replace("norm_(teacher", "norm_(student"), made=NETS) == []
    both = TEACHER.replace(
        "        optimizer.step", "        nn.utils.clip_grad_norm_(student.parameters(), 1.0)\n        optimizer.step"
    )
    assert certain(both, made=NETS) == []


def test_the_elements_of_a_list_may_be_the_ones_that_are_stepped() -> None:
    body = """
class Agent:
    def __init__(self, policies, values):
        self.policies, self.values = policies, values
        self.for_policies = [torch.optim.Adam(one.parameters()) for one in policies]
        self.for_values = [torch.optim.Adam(one.parameters()) for one in values]

    def train(self, loader, i):
        for x in loader:
            self.for_values[i].zero_grad()
            self.values[i](x).mean().backward()
            nn.utils.clip_grad_norm_(self.values[i].parameters(), 1.0)
            self.for_values[i].step()
        for x in loader:
            self.for_policies[i].zero_grad()
            self.policies[i](x).mean().backward()
            nn.utils.clip_grad_norm_(self.policies[i].parameters(), 1.0)
            self.for_policies[i].step()
"""
    assert certain(body, made=NETS) == []
    assert certain(body.replace("norm_(self.values", "norm_(self.policies"), made=NETS) == ["ZG302"]


def test_another_method_may_step_on_what_was_clipped() -> None:
    body = """
class Trainer:
    def __init__(self, body, head):
        self.body, self.head = body, head
        self.for_body = torch.optim.Adam(body.parameters())
        self.for_head = torch.optim.Adam(head.parameters())

    def learn(self, x):
        self.for_head.zero_grad()
        self.head(self.body(x)).mean().backward()
        nn.utils.clip_grad_norm_(self.body.parameters(), 1.0)
        self.for_head.step()

    def move_on(self):
        self.for_body.step()
        self.for_body.zero_grad()
"""
    assert certain(body, made=NETS) == []


def test_lightning_goes_backward_behind_the_training_step() -> None:
    body = """
import lightning


class Lit(lightning.LightningModule):
    def {method}(self, batch, number):
        {first}
        loss = self.net(batch).mean()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
"""
    assert certain(body.format(method="training_step", first="pass"), made=NETS) == ["ZG302"]
    assert certain(body.format(method="on_after_backward", first="pass"), made=NETS) == []
    assert certain(body.format(method="training_step", first="self.automatic_optimization = False"), made=NETS) == []
