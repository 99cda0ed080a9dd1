"""Findings made by hand: everything that a format may have to show."""

from zerograd.core.events import Site
from zerograd.core.findings import Certainty, Edit, Finding, Fix, Related, Safety, Severity

TRAIN = [
    "import torch",
    "",
    "def train(model, optimizer, loader):",
    "    for x, name in loader:",
    "\tloss = model(x).sum(); print('\u00e9\u4e2d', name); loss.backward()",
    "        print(loss)",
    "        print(loss)",
    "        optimizer.step(",
    "            None,",
    "        )",
    "",
    "# done",
]
MODEL = ["class Model:", "    def clear(self, optimizer):", "        optimizer.zero_grad()"]
DOCUMENTS = {"src/train.py": TRAIN, "src/model.py": MODEL, "a b.ipynb:cell 3": TRAIN}

STALE = Finding(
    code="ZG001",
    name="stale-accumulation",
    message="optimizer.step() uses old gradients: 100% of them, loss.backward() on line 5",
    site=Site("src/train.py", 8, 9, 10, 10),
    certainty=Certainty.CERTAIN,
    severity=Severity.ERROR,
    related=(
        Related(Site("src/train.py", 5, 47, 5, 62), "adds to them"),
        Related(Site("src/model.py", 3, 9, 3, 30), "clears them"),
    ),
    cure="call optimizer.zero_grad() right after optimizer.step()",
    fix=Fix(
        "call optimizer.zero_grad() right before backward()",
        (Edit(5, 2, 5, 2, "optimizer.zero_grad()\n\t"),),
        Safety.UNSAFE,
    ),
)
DEPOSIT = Finding(
    code="ZG402",
    name="retained-graph",
    message='"loss" <keeps>\nevery graph alive',
    site=Site("src/train.py", 5, 47, 5, 62),
    certainty=Certainty.POSSIBLE,
    severity=Severity.WARNING,
    fix=Fix("remove it", (Edit(5, 47, 5, 62, ""),), Safety.SAFE),
)
IN_CELL = Finding(
    code="ZG403",
    name="cleared-twice",
    message="cleared twice",
    site=Site("a b.ipynb", 7, 9, 7, 20, cell=3),
    certainty=Certainty.CERTAIN,
    severity=Severity.NOTE,
    fix=Fix("clear once", (Edit(7, 1, 8, 1, "", cell=3),), Safety.SAFE),
)
IN_RUN = Finding(
    code="ZG008",
    name="unowned-gradient",
    message="nobody steps it",
    site=Site("/abs/x,y:z.py", 7),
    certainty=Certainty.CERTAIN,
    severity=Severity.WARNING,
)
ALL = [DEPOSIT, STALE, IN_CELL, IN_RUN]
