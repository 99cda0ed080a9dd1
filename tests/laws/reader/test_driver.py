"""Programs that need others to run, run; and what is written down of them is what they do."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DRIVE = """
import json, sys
from laws.reader.driver.driving import drive_all
from laws.reader.oracle import as_json, told
programs = json.load(sys.stdin)
runs = drive_all((name, {"program.py": text}) for name, text in programs.items())
print(json.dumps({name: as_json(told(seen)) for name, seen in runs}))
"""
PROGRAMS = {
    "parameters of a root": """\
def train(G, D, loader, optimizerG, opt_D):
    for x, y in loader:
        optimizerG.zero_grad()
        fake = G(x)
        D(fake).mean().backward()
        optimizerG.step()
        opt_D.zero_grad()
        cut = fake.detach()
        (D(y) - D(cut)).mean().backward()
        opt_D.step()
""",
    "attributes that nobody sets": """\
class Trainer:
    def fit(self):
        for i, batch in enumerate(self.loader):
            loss = self.model(batch).loss / self.args.accumulation_steps
            loss.backward()
            if (i + 1) % self.args.accumulation_steps == 0:
                self.optimizer.step()
                for p in self.model.parameters():
                    p.grad = None
""",
    "modules that are missing": """\
import torch
from nets import Encoder, criterion
from tools.optim import FancyAdam

net = Encoder(depth=3)
optimizer = FancyAdam(net.parameters())
for _ in range(3):
    optimizer.zero_grad()
    criterion(net(torch.ones(7, 5)), "labels").backward()
    optimizer.step()
""",
    "shapes that do not fit": """\
import torch
from torch import nn

net = nn.Linear(3, 2)
other = nn.Linear(5, 2)


def train(batches):
    for x, y in batches:
        nn.functional.cross_entropy(net(x), y).backward()
""",
    "weights without a module": """\
import torch

w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
optimizer.step()
""",
}


@cache
def runs() -> dict[str, dict[str, dict[str, list[object]]]]:
    """All of them in one process: torch is changed for good, and forks want no threads."""
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", DRIVE], input=json.dumps(PROGRAMS), env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_optimizer_holds_the_network_of_its_name() -> None:
    run = runs()["parameters of a root"]
    regions = run["regions"]
    assert run["held"]["6"] == regions["train(G):"] * 4
    assert run["held"]["10"] == regions["train(D):"] * 4
    assert run["reached"]["5"][0] == sorted(regions["train(G):"][0] + regions["train(D):"][0])
    assert run["reached"]["9"] == regions["train(D):"] * 4
    assert run["live"] == {"4:fake": [True], "8:cut": [False]}
    assert run["window"]["10"][1] == {"clear": 1, "deposit": 2}


def test_unset_attributes_are_filled_and_clears_by_hand_are_seen() -> None:
    run = runs()["attributes that nobody sets"]
    assert run["window"]["7"] == [{"deposit": 2}, {"deposit": 2, "clear": 1}]
    assert run["cleared"]["9"] == run["regions"]["Trainer.model:"] * 2


def test_missing_classes_are_what_they_are_made_with() -> None:
    run = runs()["modules that are missing"]
    assert run["held"]["10"] == run["reached"]["9"] == run["cleared"]["8"] == run["regions"]["5:"] * 3


def test_what_does_not_fit_still_reaches_what_it_was_made_of() -> None:
    run = runs()["shapes that do not fit"]
    assert run["reached"]["10"] == run["regions"]["4:"] * 4
    assert run["regions"]["5:"][0] not in run["reached"]["10"]


def test_a_tensor_is_known_by_the_line_that_binds_it() -> None:
    run = runs()["weights without a module"]
    assert run["held"]["6"] == run["reached"]["5"] == run["regions"]["3:"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_trains(name: str) -> None:
    assert runs()[name]["reached"]
