"""A scaler divides what it holds once a step, is told of each step, and lives as long as its optimizer."""

from source.execute.reading import certain

MADE = """\
import torch
from torch import nn
from torch.cuda.amp import GradScaler
"""
LOOP = """
def train(model, loader, optimizer, scaler):
    for i, x in enumerate(loader):
        optimizer.zero_grad()
        scaler.scale(model(x).mean()).backward()
        scaler.step(optimizer)
        {behind}
"""


def test_a_step_that_the_scaler_is_not_told_of() -> None:
    assert certain(LOOP.format(behind="pass"), made=MADE) == ["ZG203"]
    assert certain(LOOP.format(behind="scaler.update()"), made=MADE) == []
    assert certain(LOOP.format(behind="if i % 10 == 0:\n            scaler.update()"), made=MADE) == ["ZG203"]
    assert certain(LOOP.format(behind="tell(scaler)"), made=MADE + "from lib import tell\n") == []


def test_an_update_that_has_no_step_to_judge_by() -> None:
    body = """
def train(model, loader, optimizer, scaler, n):
    for i, x in enumerate(loader):
        scaler.scale(model(x).mean() / n).backward()
        if (i + 1) % n == 0:
            scaler.step(optimizer)
            {inside}
            optimizer.zero_grad()
        {behind}
"""
    assert "ZG203" in certain(body.format(inside="pass", behind="scaler.update()"), made=MADE)
    assert "ZG203" not in certain(body.format(inside="scaler.update()", behind="pass"), made=MADE)


def test_a_scaler_that_is_made_anew_while_its_optimizer_goes_on() -> None:
    body = """
def train(model, loader, optimizer, epochs):
    {once}
    for epoch in range(epochs):
        {each}
        for x in loader:
            optimizer.zero_grad()
            scaler.scale(model(x).mean()).backward()
            scaler.step(optimizer)
            scaler.update()
"""
    make = "scaler = GradScaler()"
    assert certain(body.format(once="pass", each=make), made=MADE) == ["ZG203"]
    assert certain(body.format(once=make, each="pass"), made=MADE) == []
    assert certain(body.format(once="pass", each=f"{make}; scaler.load_state_dict(model.state)"), made=MADE) == []
    assert (
        certain(body.format(once="pass", each=f"{make}; optimizer = torch.optim.Adam(model.parameters())"), made=MADE)
        == []
    )
    of_each = body.replace("for epoch in range(epochs)", "for model, optimizer in zip(model, optimizer)")
    assert certain(of_each.format(once="pass", each=make), made=MADE) == []


def test_who_shares_parameters_with_a_stepped_optimizer_finds_them_divided() -> None:
    body = """
def train(net, loader, scaler):
    head = torch.optim.SGD(net.head.parameters(), lr=0.1)
    whole = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        net.zero_grad()
        scaler.scale(net(x).mean()).backward()
        {first}
        scaler.update()
        head.step()
"""
    assert "ZG202" not in certain(body.format(first="scaler.step(whole)"), made=MADE)
    assert "ZG202" in certain(body.format(first="pass"), made=MADE)


def test_an_iteration_that_is_given_up_behind_unscale() -> None:
    body = """
def train(model, loader, optimizer, scaler):
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(model(x).mean()).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if norm > 100:
            {given_up}
        scaler.step(optimizer)
        scaler.update()
"""
    assert certain(body.format(given_up="continue"), made=MADE) == ["ZG204"]
    assert certain(body.format(given_up="scaler.update()\n            continue"), made=MADE) == []


def test_each_of_several_optimizers_is_unscaled_once() -> None:
    body = """
def train(model, loader, optimizers, scaler):
    for x in loader:
        scaler.scale(model(x).mean()).backward()
        for one in optimizers:
            scaler.unscale_(one)
        for one in optimizers:
            scaler.step(one)
        scaler.update()
        for one in optimizers:
            one.zero_grad()
"""
    assert certain(body, made=MADE) == []


def test_a_helper_that_clips_for_a_scaler_which_nobody_tells_to_unscale() -> None:
    body = """
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def update(scaler):
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
    assert certain(body, made=MADE) == ["ZG201"]
    assert certain(body + "\n\ndef prepare(scaler):\n    scaler.unscale_(optimizer)\n", made=MADE) == []


def test_half_precision_that_is_the_default() -> None:
    body = """
class Worker:
    def __init__(self, net, amp={amp}, kind="fp16"):
        self.accelerator = Accelerator(mixed_precision=kind if amp else "no")
        self.net = net
        self.opt = torch.optim.Adam(net.parameters())

    def train(self, loader):
        for x in loader:
            self.opt.zero_grad()
            self.accelerator.backward(self.net(x).mean())
            self.opt.step()
"""
    made = MADE + "from accelerate import Accelerator\n"
    assert certain(body.format(amp=True), made=made) == ["ZG202"]
    assert certain(body.format(amp=False), made=made) == []


def test_a_flag_under_two_tests_says_that_the_iteration_is_given_up() -> None:
    body = """
def train(model, loader, optimizer, scaler, cfg):
    for x in loader:
        skip = False
        scaler.scale(model(x).mean()).backward()
        scaler.unscale_(optimizer)
        if cfg.clip > 0:
            norm = nn.utils.clip_grad_norm_(model.parameters(), cfg.clip)
            if norm > 5 * cfg.clip:
                skip = True
        if not skip:
            scaler.step(optimizer)
        {behind}
        optimizer.zero_grad()
"""
    assert certain(body.format(behind="if not skip:\n            scaler.update()"), made=MADE) == ["ZG204"]
    assert certain(body.format(behind="scaler.update()"), made=MADE) == []


def test_one_of_several_optimizers_goes_through_the_scaler() -> None:
    body = """
def train(model, loader, scaler, name, n):
    if name == "sgd":
        optimizer = torch.optim.SGD(model.parameters())
    else:
        optimizer = torch.optim.Adam(model.parameters())
    for i, x in enumerate(loader):
        scaler.scale(model(x).mean() / n).backward()
        {each}
        if (i + 1) % n == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""
    assert "ZG204" in certain(body.format(each="scaler.unscale_(optimizer)"), made=MADE)
    assert "ZG204" not in certain(body.format(each="if (i + 1) % n == 0: scaler.unscale_(optimizer)"), made=MADE)
