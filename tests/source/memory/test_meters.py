"""Meters that are handed live losses: only what its class surely keeps, with its graph and for good, is certain."""

from pathlib import Path

import pytest

from zerograd.source.check import check_text
from zerograd.source.lowering.library import Library

METER = """\
class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.sum = 0
        self.count, self.values = 0, []

    def update(self, val, n=1):
        {body}
        self.count += n
"""
SUMS = "self.val = val; self.sum += val * n"
TRAIN = """\
import torch
from torch import nn
{imports}

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(loader{parameter}):
    {made}
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        {given}
"""
LOCAL, GIVEN = "meter = Meter()", "meter.update(loss, len(x))"


def _found(meter: str, *, made: str = LOCAL, given: str = GIVEN, parameter: str = "", behind: str = "") -> list[str]:
    text = TRAIN.format(imports="\n\n" + meter, made=made, given=given, parameter=parameter) + behind
    return [one.certainty.value for one in check_text(text, "train.py", library=Library()) if one.code == "ZG402"]


@pytest.mark.parametrize(
    "body",
    [
        SUMS,
        "self.sum = self.sum + val",
        "self.values.append(val)",
        "self.sum += val.mean() * n",
    ],
)
def test_it_keeps_what_it_is_given(body: str) -> None:
    assert _found(METER.format(body=body)) == ["certain"]


@pytest.mark.parametrize(
    "body",
    [
        "self.val = val",
        "self.sum += val.item() * n",
        "self.sum += float(val) * n",
        "self.sum += val.detach() * n",
        "val = val.item() if torch.is_tensor(val) else val; self.sum += val * n",
        "\n        if torch.is_tensor(val):\n            val = val.item()\n        self.sum += val * n",
        "\n        if torch.is_tensor(val):\n            self.sum += val.item()\n        else: self.sum += val",
        "\n        if torch.is_tensor(val):\n            return self.update(val.item(), n)\n        self.sum += val",
        "\n        with torch.no_grad():\n            self.sum += val * n",
        "\n        try:\n            self.sum += val.item()\n        except AttributeError: self.sum += val",
        "self.values.append(val); self.values.pop(0)",
        "self.reset(); self.sum += val",
        "self.sum = 0.9 * self.sum + val; self.sum = self.sum.item()",
    ],
)
def test_it_keeps_no_graphs(body: str) -> None:
    assert _found(METER.format(body=body)) == []


def test_classes_that_others_make_something_of() -> None:
    meter = METER.format(body=SUMS)
    assert _found(meter.replace("class Meter:", "class Meter(torchmetrics.Metric):")) == []
    assert _found(meter.replace("    def update", "    @torch.no_grad()\n    def update")) == []
    assert _found(meter.replace("self.sum = 0", "self.sum = deque(maxlen=9)")) == []
    assert _found("from library import Meter") == []


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ('meters = {"loss": Meter(), "time": other()}', 'meters["loss"].update(loss)'),
        ("meters = {}; meters['loss'] = Meter()", "meters['loss'].update(loss)"),
        ("meters = [Meter() for _ in range(3)]", "meters[0].update(loss)"),
        ("meters = defaultdict(Meter)", "meters[name].update(loss)"),
        ("meter, top = Meter(), Meter()", "meter.update(val=loss); print(meter.avg)"),
        (LOCAL, f'{GIVEN}; print("{{0.avg}}".format(meter))'),
    ],
)
def test_where_it_is_bound(made: str, given: str) -> None:
    assert _found(METER.format(body=SUMS), made=made, given=given) == ["certain"]


@pytest.mark.parametrize(
    ("made", "given", "found"),
    [
        (LOCAL, "meter.update(loss.item(), len(x))", []),
        (LOCAL, "meter.update(loss.detach())", []),
        (LOCAL, "meter.update(loss.data)", []),
        (LOCAL, "meter.update(float(loss))", []),
        (LOCAL, "loss = loss.item(); meter.update(loss)", []),
        (LOCAL, f"meter = Meter(); {GIVEN}", []),
        (LOCAL, f"{GIVEN}; meter.reset()", []),
        (LOCAL, f"{GIVEN}; report(meter)", ["possible"]),
        ("meter = make()", GIVEN, []),
        ("meter = {}", "meter.update(loss=loss)", []),
        ('meters = {"loss": other()}', 'meters["loss"].update(loss)', []),
    ],
)
def test_neighbours_of_the_fault(made: str, given: str, found: list[str]) -> None:
    assert _found(METER.format(body=SUMS), made=made, given=given) == found


def test_a_meter_that_is_handed_in() -> None:
    meter = METER.format(body=SUMS)
    calls = "\n\nmeter = {}\nfor epoch in range(9):\n    train(data, meter)\n"
    assert _found(meter, made="", parameter=", meter", behind=calls.format("Meter()")) == ["certain"]
    assert _found(meter, made="", parameter=", meter", behind=calls.format("other()")) == []
    assert _found(meter, made="", parameter=", meter") == []


def test_a_class_of_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text(METER.format(body=SUMS))
    assert _found("from tools import Meter") == ["certain"]
    (tmp_path / "tools.py").write_text(METER.format(body="self.sum += val.item()"))
    assert _found("from tools import Meter") == []


def test_autograd_is_told_to_look_on() -> None:
    told = "torch.set_grad_enabled({}); meter = Meter()"
    assert _found(METER.format(body=SUMS), made=told.format("True")) == ["certain"]
    assert _found(METER.format(body=SUMS), made=told.format("flag")) == []


STEP = """


class Trainer{base}:
    def __init__(self):
        self.meter = Meter()

    def step(self, x, y):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        self.meter.update(loss)

    def run(self, loader):
        for x, y in loader:
            self.step(x, y)
            {behind}
"""


@pytest.mark.parametrize(
    ("base", "behind", "found"),
    [
        ("", "pass", ["certain"]),
        ("(Base)", "pass", ["possible"]),
        ("", "self.meter.reset()", []),
        ("", "self.meter = Meter()", []),
    ],
)
def test_a_method_that_a_loop_calls(base: str, behind: str, found: list[str]) -> None:
    step = STEP.format(base=base, behind=behind)
    assert _found(METER.format(body=SUMS), given="pass", behind=step) == found


def test_the_steps_of_one_sequence() -> None:
    given = "pass\n\n\ndef walk(states):\n    meter, loss = Meter(), 0\n    for state in states:\n"
    given += "        step_loss = model(state).sum()\n        loss = loss + step_loss\n"
    given += "        meter.update(step_loss)\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()"
    assert _found(METER.format(body=SUMS), given=given) == []
