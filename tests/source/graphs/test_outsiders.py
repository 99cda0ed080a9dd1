"""A retained graph, where only the files beside know what a function is given and what becomes of what it returns."""

from pathlib import Path

import pytest

from zerograd.source.check import check_text

FIT = """
import torch

def fit(net, points):
    opt = torch.optim.Adam(net.parameters())
    for _ in range(100):
        opt.zero_grad()
        loss = net(points).pow(2).mean()
        loss.backward(retain_graph=True)
        opt.step()
"""

TRAINER = """
import torch
from torch.nn import functional as F

class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters())

    def learn(self, images, labels):
        out = self.net(images)
        loss = F.cross_entropy(out, labels)
        self.opt.zero_grad()
        loss.backward(retain_graph=True)
        self.opt.step()
        return loss.item(), out
"""

LEAF = "points = torch.rand(9, 3).to('cuda')\npoints.requires_grad = True\n"
MADE = "trainer = Trainer(net)\nfor x, y in loader:\n    loss, out = trainer.learn(x, y)\n"


@pytest.mark.parametrize(
    ("text", "beside", "certain"),
    [
        (FIT, f"import torch\nfrom home import fit\n{LEAF}fit(net, points)\n", True),
        (FIT, f"import torch\nimport home\n{LEAF}home.fit(net, points=points)\n", True),
        (FIT, f"import torch\nfrom home import *\n{LEAF}fit(net, points)\n", True),
        (FIT, f"import torch\nfrom home import fit\n{LEAF}fit(net, encoder(points))\n", False),
        (FIT, f"import torch\nfrom home import fit\n{LEAF}fit(net, points ** 2)\n", False),
        (FIT, f"import torch\nfrom home import fit\n{LEAF}fit(net, points)\nrun(fit)\n", False),
        (FIT, "from home import fit\ndef main(features):\n    fit(net, features)\n", False),
        (FIT, "from home import fit\nfit(net, *points)\n", False),
        (FIT, "from away import fit\n", False),
        (TRAINER, f"from home import Trainer\n{MADE}    print(loss, out.argmax(1) == y)\n", True),
        (TRAINER, f"from home import Trainer\n{MADE}    print(loss)\n", True),
        (TRAINER, f"from home import Trainer\n{MADE}    out.abs().mean().backward()\n", False),
        (TRAINER, f"from home import Trainer\n{MADE}    keeper.outs.append(out)\n", False),
        (TRAINER, "def run(trainer, x, y):\n    return trainer.learn(x, y)\n", False),
        (
            TRAINER,
            "from home import Trainer\ndef run(x, y):\n    trainer = Trainer(net)\n    return trainer.learn(x, y)",
            False,
        ),
        (TRAINER, "import torch\n", False),
    ],
)
def test_what_those_beside_do(tmp_path: Path, text: str, beside: str, *, certain: bool) -> None:
    (tmp_path / "home.py").write_text(text)
    (tmp_path / "main.py").write_text(beside)
    found = check_text(text, str(tmp_path / "home.py"))
    assert [(one.code, one.certainty.value) for one in found] == [("ZG402", "certain" if certain else "possible")]
