"""Imports lead to definitions in other files, and functions to those who call them."""

from pathlib import Path

import pytest

from zerograd.errors import SourceError
from zerograd.source.project.classes import Classes
from zerograd.source.project.files import External, Project
from zerograd.source.project.index import Class, File, Function


def project(tmp_path: Path, files: dict[str, str]) -> Project:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Project(str(tmp_path))


def opened(found: Project, path: Path) -> File:
    file = found.load(str(path))
    assert file is not None
    return file


def test_an_import_leads_to_the_definition(tmp_path: Path) -> None:
    files = project(tmp_path, {"engine.py": "def train():\n    pass\n", "main.py": "from engine import train\n"})
    found = files.definition(opened(files, tmp_path / "main.py"), "train")
    assert isinstance(found, Function)
    assert found.file.path.endswith("engine.py")


def test_a_package_hands_on_what_it_imports(tmp_path: Path) -> None:
    texts = {"lib/__init__.py": "from .net import Net\n", "lib/net.py": "class Net:\n    pass\n"}
    files = project(tmp_path, {**texts, "main.py": "from lib import *\nimport lib\n"})
    main = opened(files, tmp_path / "main.py")
    assert isinstance(files.definition(main, "Net"), Class)
    assert isinstance(files.definition(main, "lib"), File)


def test_what_lies_outside_has_its_qualified_name(tmp_path: Path) -> None:
    files = project(tmp_path, {"main.py": "from torch.nn import functional as F\nimport numpy as np\n"})
    main = opened(files, tmp_path / "main.py")
    assert files.definition(main, "F") == External("torch.nn.functional")
    assert files.definition(main, "np") == External("numpy")
    assert files.definition(main, "nothing") is None


def test_callers_in_other_files_are_found(tmp_path: Path) -> None:
    texts = {"engine.py": "def train():\n    pass\n", "main.py": "import engine\n\ndef main():\n    engine.train()\n"}
    files = project(tmp_path, texts)
    function = files.definition(opened(files, tmp_path / "engine.py"), "train")
    assert isinstance(function, Function)
    (caller,) = files.callers(function)
    assert caller.function is not None
    assert caller.function.name == "main"


def test_a_class_inherits_across_files(tmp_path: Path) -> None:
    texts = {"base.py": "import torch\n\nclass Base(torch.nn.Module):\n    def step(self):\n        pass\n"}
    files = project(tmp_path, {**texts, "net.py": "from base import Base\n\nclass Net(Base):\n    pass\n"})
    net = files.definition(opened(files, tmp_path / "net.py"), "Net")
    assert isinstance(net, Class)
    bases = Classes(files).of(net)
    assert list(bases.methods) == ["step"]
    assert bases.outside == ("torch.nn.Module",)


def test_what_is_not_python_is_refused() -> None:
    with pytest.raises(SourceError):
        Project().open("a.py", "def (:\n")


HANDS = {"hands.py": "def tidy(thing):\n    thing.zero_grad()\n\ndef name(thing):\n    return str(thing)\n"}


def test_who_calls_what_acts_in_another_file_acts(tmp_path: Path) -> None:
    text = "import hands as h\nfrom hands import name\n\ndef one(x):\n    h.tidy(x)\n\ndef other(x):\n    name(x)\n"
    files = project(tmp_path, {**HANDS, "main.py": text})
    acting = files.acting(opened(files, tmp_path / "main.py"), frozenset({"zero_grad"}))
    assert {one.name for one in acting} == {"one"}


def test_files_that_import_each_other_act_as_they_do(tmp_path: Path) -> None:
    texts = {"a.py": "import b\n\ndef one(x):\n    x.step()\n", "b.py": "import a\n\ndef two(x):\n    a.one(x)\n"}
    files = project(tmp_path, texts)
    assert {one.name for one in files.acting(opened(files, tmp_path / "b.py"), frozenset({"step"}))} == {"two"}


@pytest.mark.parametrize("line", ["import os, hands as h", "from hands import tidy", "from . import hands"])
def test_the_files_that_a_text_imports_are_found_without_parsing_it(tmp_path: Path, line: str) -> None:
    files = project(tmp_path, HANDS)
    assert list(files.imported_texts(str(tmp_path / "main.py"), f"import torch\n{line}\n")) == [HANDS["hands.py"]]


def test_a_part_of_a_package_is_not_what_its_short_name_brings(tmp_path: Path) -> None:
    texts = {"mine/__init__.py": "", "mine/torch/__init__.py": "", "mine/torch/loop.py": "import torch\n"}
    files = project(tmp_path, {**texts, "torch_like.py": "", "mine/other.py": "import torch_like\n"})
    assert files.definition(opened(files, tmp_path / "mine/torch/loop.py"), "torch") == External("torch")
    assert isinstance(files.definition(opened(files, tmp_path / "mine/other.py"), "torch_like"), File)
