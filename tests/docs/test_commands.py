"""Every command of README and docs is run, in the order of its page, or stands below with the reason why not.

A page's file is the text block that follows the words "one file, `train.py`". What a page shows under a
command is what the command prints; a line of three dots stands for any lines.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks" / "results").glob("*.md")])
NOT_RUN = {
    r"pip install .*": "it would change the environment that runs this test, which make has installed in this way",
    r"cd path/to/your/code": "stands for your folder",
    r"torchrun .*": "tests/attach starts torchrun, with two ranks",
    r"accelerate launch .*": "tests/frameworks starts accelerate, with two ranks",
    r"make bench-check .*": "needs facts and mirrors that are not part of the repository",
    r"python benchmarks/.*": "hours, and a machine of its own: the results are dated",
    r"python -m venv peers .*": "installs other libraries for a benchmark",
    r"PYTHONPATH=src .* benchmarks/.*": "hours, and a machine of its own: the results are dated",
}  # fmt: skip
ELSEWHERE = {"ci.md"}  # test_recipes.py runs its commands, in a repository made for them
SMALL = """\
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.ones(8, 2, 4):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""


def commands(page: Path) -> list[tuple[str, str]]:
    """Each command of a page with what is shown below it."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(), re.M | re.S)
    return [found for block in blocks for found in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)]


def reason(command: str) -> str:
    return next(
        (why for pattern, why in NOT_RUN.items() if re.fullmatch(pattern, command.partition(" #")[0].strip())), ""
    )


def as_shown(expected: str) -> re.Pattern[str]:
    return re.compile(
        "".join("(?:.*\n)*" if line == "...\n" else re.escape(line) for line in expected.splitlines(True))
    )


WITH_COMMANDS = [
    page for page in PAGES if page.name not in ELSEWHERE and any(not reason(command) for command, _ in commands(page))
]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    own = re.search(r"one\s+file, `(\w+\.py)`.*?^```text\n(.*?)^```", page.read_text(), re.M | re.S)
    (tmp_path / "package").mkdir()
    for name in ("train.py", "package/train.py"):
        (tmp_path / name).write_text(SMALL)
    (tmp_path / "test_train.py").write_text("def test_it(): ...\n")
    (tmp_path / "profiler.json").write_text('{"traceEvents": []}')  # as torch.profiler writes it
    if own:
        for extra in ("package/train.py", "test_train.py"):
            (tmp_path / extra).unlink()
        (tmp_path / own[1]).write_text(own[2])
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "PYTHONPATH", "OMP_NUM_THREADS")}
    environment = {**kept, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    for command, expected in commands(page):
        if reason(command):
            continue
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if expected:
            assert as_shown(expected).fullmatch(done.stdout), f"{command}\n{done.stdout}"
        else:
            assert done.returncode in (0, 1), f"{command}\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_stands_in_a_console_block(page: Path) -> None:
    """Where it is run. Elsewhere nobody would notice that it is gone."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S)
    others = [block for language, block in blocks if language != "console" and page.parent.name != "results"]
    assert [block for block in others if re.search(r"^(\$ |zerograd (check|run|rule|lab|report) )", block, re.M)] == []


def test_every_reason_is_needed() -> None:
    written = [command.partition(" #")[0].strip() for page in PAGES for command, _ in commands(page)]
    idle = [pattern for pattern in NOT_RUN if not any(re.fullmatch(pattern, command) for command in written)]
    assert idle == []
