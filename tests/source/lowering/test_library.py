"""What an imported name stands for: found as Python would find it, read and never executed."""

import gc
import weakref
from pathlib import Path

import pytest

from zerograd.core.findings import Certainty
from zerograd.source.check import check_text
from zerograd.source.lowering.library import Library

LOOP = """\
import torch
from torch import nn
{imports}

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    {clear}
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
"""
CLEARS = "def reset_grad(nets):\n    for net in nets:\n        net.zero_grad()\n"
IDLE = "import torch\n\n\ndef reset_grad(nets):\n    return [net.grad for net in nets]\n"


def _codes(folder: Path, text: str, path: str = "train.py") -> list[str]:
    findings = check_text(text, path, library=Library())
    return [finding.code for finding in findings if finding.certainty is Certainty.CERTAIN]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("imports", "clear", "file"),
    [
        ("from tools import reset_grad", "reset_grad([model])", "tools.py"),
        ("from tools import *", "reset_grad([model])", "tools.py"),
        ("import tools", "tools.reset_grad([model])", "tools.py"),
        ("from kit import tools as t", "t.reset_grad([model])", "kit/tools.py"),
    ],
)
def test_a_clear_in_another_file_is_seen(here: Path, imports: str, clear: str, file: str) -> None:
    text = LOOP.format(imports=imports, clear=clear)
    (here / file).parent.mkdir(exist_ok=True)
    (here / file).write_text(CLEARS)
    assert _codes(here, text) == []
    (here / file).write_text(IDLE)  # it only has the name: the fault is there, and certain
    assert _codes(here, text) == ["ZG001"]


def test_what_a_package_passes_on(here: Path) -> None:
    (here / "kit").mkdir()
    (here / "kit" / "__init__.py").write_text("from .tools import reset_grad\n")
    (here / "kit" / "tools.py").write_text(IDLE)
    assert _codes(here, LOOP.format(imports="from kit import reset_grad", clear="reset_grad([model])")) == ["ZG001"]


def test_files_that_import_each_other(here: Path) -> None:
    (here / "one.py").write_text("from train import *\nfrom two import reset_grad\n")
    (here / "two.py").write_text("from one import reset_grad\n" + CLEARS)
    assert _codes(here, LOOP.format(imports="from two import reset_grad", clear="reset_grad([model])")) == []


def test_a_base_class_of_another_file_runs_the_override(here: Path) -> None:
    (here / "base.py").write_text(
        "class Base:\n    def update(self, x):\n        raise NotImplementedError\n\n    def fit(self, loader):\n"
        "        for x in loader:\n            self.update(x)\n            self.optimizer.step()\n"
    )
    text = (
        "import torch\nfrom base import Base\n\n\nclass Trainer(Base):\n    def update(self, x):\n"
        "        {clear}\n        self.model(x).mean().backward()\n\n"
        "    def train(self, loader):\n        self.optimizer.zero_grad()\n        self.fit(loader)\n"
    )
    assert _codes(here, text.format(clear="self.optimizer.zero_grad()")) == []
    assert _codes(here, text.format(clear="pass")) == ["ZG001"]


def test_nothing_is_executed(here: Path) -> None:
    (here / "tools.py").write_text("raise SystemExit('executed')\n" + CLEARS)
    assert _codes(here, LOOP.format(imports="from tools import reset_grad", clear="reset_grad([model])")) == []


def test_without_a_library_no_other_file_is_read(here: Path) -> None:
    (here / "tools.py").write_text(IDLE)
    text = LOOP.format(imports="from tools import reset_grad", clear="reset_grad([model])")
    assert not any(finding.certainty is Certainty.CERTAIN for finding in check_text(text, "train.py"))


def test_old_texts_of_a_file_are_let_go() -> None:
    library = Library()
    old = weakref.ref(library.open("train.py", CLEARS))
    for edit in range(3):  # the last parsed trees are kept for whoever asks again
        library.open("train.py", f"{CLEARS}\n# {edit}\n")
    gc.collect()
    assert old() is None


BASE = """\
import torch


class Base:
    def __init__(self, model):
        self.model = model
        self.params = {params}
        self.optimizer = torch.optim.Adam(self.params)
"""
SUB = """\
import torch
from base import Base


class Agent(Base):
    def __init__(self, model):
        {init}

    def learn(self, loss):
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.params, 1.0)
        self.optimizer.step()
"""
GENERATOR = "filter(lambda p: p.requires_grad, model.parameters())"
SUPER = "super().__init__(model)"


@pytest.mark.parametrize(
    ("params", "init", "codes"),
    [
        (GENERATOR, SUPER, ["ZG306"]),
        ("self.model.parameters()", SUPER, ["ZG306"]),
        (f"list({GENERATOR})", SUPER, []),
        (GENERATOR, "self.params = list(model.parameters())", []),  # of the base class it has nothing
        (GENERATOR, f"{SUPER}; self.params = list(model.parameters())", []),
    ],
)
def test_what_a_base_class_of_another_file_keeps(here: Path, params: str, init: str, codes: list[str]) -> None:
    (here / "base.py").write_text(BASE.format(params=params))
    assert _codes(here, SUB.format(init=init)) == codes


TEMPLATE = """\
class Base:
    def fit(self, loader):
        for epoch in range(10):
            {before}
            self.run_epoch(loader)
            {behind}

    def on_start(self):
        self.scheduler.step()
"""
TRAINER = """\
import torch
from base import Base
{imports}


class Trainer(Base):
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scheduler = {scheduler}(self.optimizer, 10)

    def run_epoch(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            self.model(x).mean().backward()
            self.optimizer.step()
"""
OWN = """\
class Warmup:
    def __init__(self, optimizer, n):
        self.n = n

    def step(self):
        pass
"""
STEP_LR = "torch.optim.lr_scheduler.StepLR"


@pytest.mark.parametrize(
    ("before", "behind", "scheduler", "codes"),
    [
        ("self.scheduler.step()", "pass", STEP_LR, ["ZG301"]),
        ("self.on_start()", "pass", STEP_LR, ["ZG301"]),
        ("pass", "self.on_start()", STEP_LR, []),
        ("self.on_start()", "pass", "Warmup", []),  # a schedule of one's own may be meant to
    ],
)
def test_a_template_is_run_as_the_subclass_would(
    here: Path, before: str, behind: str, scheduler: str, codes: list[str]
) -> None:
    (here / "base.py").write_text(TEMPLATE.format(before=before, behind=behind))
    assert _codes(here, TRAINER.format(imports=OWN, scheduler=scheduler)) == codes


def test_what_is_allowed_in_the_other_file(here: Path) -> None:
    comment = "self.scheduler.step()  # zerograd: ignore[ZG301]"
    (here / "base.py").write_text(TEMPLATE.format(before=comment, behind="pass"))
    assert _codes(here, TRAINER.format(imports="", scheduler=STEP_LR)) == []


ACCELERATOR = """\
class Accelerator:
    def prepare(self, *given):
        for one in given:
            one.step()
            one.zero_grad()
        return given
"""


@pytest.mark.parametrize(
    ("package", "imports", "certain"),
    [
        ("accelerate", "from accelerate import Accelerator", False),  # a file of that name is what Python imports
        ("project", "from project import Accelerator", False),
        (None, "from accelerate import Accelerator", True),  # its own methods are known
    ],
)
def test_accelerates_own_object_is_known_by_its_methods(
    here: Path, package: str | None, imports: str, certain: bool
) -> None:
    if package is not None:
        (here / f"{package}.py").write_text(ACCELERATOR)
    text = LOOP.format(imports=f"{imports}\naccelerator = Accelerator()", clear="accelerator.prepare(optimizer)")
    assert ("ZG001" in _codes(here, text)) is certain


DIVIDED = """\
def loss_of(out, y, args):
    return (out - y).pow(2).mean() / args.gradient_accumulation_steps
"""
TOLD = """\
import torch
from accelerate import Accelerator
from losses import loss_of


def train(args, model, loader):
    accelerator = Accelerator(gradient_accumulation_steps={told})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = loss_of(model(x), y, args)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
"""


def test_a_loss_that_another_file_divides(here: Path) -> None:
    (here / "losses.py").write_text(DIVIDED)
    assert _codes(here, TOLD.format(told="args.gradient_accumulation_steps")) == ["ZG105"]
    assert _codes(here, TOLD.format(told="args.size")) == []
