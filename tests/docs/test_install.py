"""docs/install.md is the one place that says how to install; what it says is true."""

import re
import tomllib
from pathlib import Path

import yaml

import zerograd
from zerograd.errors import TESTED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text()
WRITTEN = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "src").rglob("*.py"),
    ROOT / "action.yml",
]


def test_nobody_is_sent_to_an_index_that_does_not_have_it() -> None:
    """`pip install zerograd` fails, as long as no index has it; CONTRIBUTING says when that changes."""
    sent = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in WRITTEN
        for found in re.finditer(r"pip install (?:-U )?['\"]?zerograd\b(?!\S* @ )[^\n]*", path.read_text())
        if path.name != "CONTRIBUTING.md"
    ]
    assert sent == []


def test_what_pages_install_is_one_of_the_ways() -> None:
    ways = {".", f"dist/zerograd-{zerograd.__version__}-py3-none-any.whl", "git+https://github.com/OWNER/zerograd"}
    assert {line.split()[3] for line in re.findall(r"^\$ pip install .*$", PAGE, re.M)} == ways
    others = {"pygls", "tensorboard,"}  # by their own names
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for found in re.findall(r"(?<!python -m )\bpip install (?:--\S+ )*([^\s`']+)", path.read_text()):
            way = found.removesuffix(f"@v{zerograd.__version__}")
            assert way in ways | others or path.name == "CONTRIBUTING.md", f"{path}: {found}"


def test_the_versions_of_torch_are_those_that_are_tested() -> None:
    gate, device = re.search(r"Tested with torch (\S+) \(the whole gate.*\) and (\S+) \(on an", PAGE).groups()
    assert f"{gate} and {device}" == TESTED
    pinned = re.search(r"^torch==(\d+\.\d+)", (ROOT / "constraints.txt").read_text(), re.M)
    assert pinned[1] == gate
    assert f"torch {device}." in (ROOT / "benchmarks" / "results" / "engine.md").read_text()


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.search(r"The extras (.*) are for machines", PAGE)[1]
    assert set(re.findall(r"`(\w+)`", named)) <= set(extras)
    assert extras["torch"] == ["torch"]  # any: an extra must never replace a build that is there


def test_the_action_installs_itself() -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    (install,) = [step["run"] for step in steps if "pip install" in step.get("run", "")]
    assert "$GITHUB_ACTION_PATH" in install
