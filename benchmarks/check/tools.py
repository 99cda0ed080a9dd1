"""The checkers that are measured, each as its users call it: one command, its findings, its CPU time."""

import json
import re
import resource
import shlex
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

PATIENCE = 3600  # seconds for one command
_TORCHFIX_LINE = re.compile(r"^(.+?):(\d+):\d+: (TOR\d+) ")


_ZEROGRAD = ("check", "--isolated", "--no-cache", "--jobs=1", "--output-format=json")
_EVERYTHING = ("--possible", "--notes")
_DSLINTER = (
    "import,unnecessary-iteration-pandas,unnecessary-iteration-tensorflow,nan-numpy,chain-indexing-pandas,"
    "datatype-pandas,column-selection-pandas,merge-parameter-pandas,inplace-pandas,dataframe-conversion-pandas,"
    "scaler-missing-scikitlearn,hyperparameters-scikitlearn,hyperparameters-tensorflow,hyperparameters-pytorch,"
    "memory-release-tensorflow,deterministic-pytorch,randomness-control-numpy,randomness-control-scikitlearn,"
    "randomness-control-tensorflow,randomness-control-pytorch,randomness-control-dataloader-pytorch,"
    "missing-mask-tensorflow,missing-mask-pytorch,tensor-array-tensorflow,forward-pytorch,gradient-clear-pytorch,"
    "pipeline-not-used-scikitlearn,dependent-threshold-scikitlearn,dependent-threshold-tensorflow,"
    "dependent-threshold-pytorch"
)


class Found(NamedTuple):
    """One finding, whoever made it."""

    path: str
    line: int
    code: str
    certain: bool = True
    note: bool = False

    @property
    def fails(self) -> bool:
        return self.certain and not self.note


class Answer(NamedTuple):
    findings: list[Found]
    seconds: float  # user and system, of the command and its children
    trouble: str = ""  # why there is no answer


class Tool(Protocol):
    name: str

    def check(self, folder: Path, targets: Sequence[str]) -> Answer: ...


class Zerograd:
    name = "zerograd"

    def __init__(self, command: str, *, everything: bool = True) -> None:
        self._command = [*shlex.split(command), *_ZEROGRAD, *(_EVERYTHING if everything else ())]

    def check(self, folder: Path, targets: Sequence[str]) -> Answer:
        done, seconds = timed([*self._command, *targets], folder)
        if not done.stdout.startswith("["):
            return Answer([], seconds, done.stderr[-300:] or "no answer")
        rows = json.loads(done.stdout)
        return Answer(
            [
                Found(row["path"], row["line"], row["code"], row["certainty"] == "certain", row["severity"] == "note")
                for row in rows
            ],
            seconds,
        )


class Dslinter:
    """A plugin of pylint. `whole` turns on all its rules, as its README does; else only the one about gradients."""

    def __init__(self, pylint: str, *, whole: bool = False) -> None:
        self.name = "dslinter, all rules" if whole else "dslinter, its rule about gradients"
        enabled = _DSLINTER if whole else "gradient-clear-pytorch"
        options = ["--load-plugins=dslinter", "--disable=all", f"--enable={enabled}", "-j1", "--output-format=json"]
        self._command = [*shlex.split(pylint), *options]

    def check(self, folder: Path, targets: Sequence[str]) -> Answer:
        done, seconds = timed([*self._command, *targets], folder)
        try:
            rows = json.loads(done.stdout or "[]")
        except ValueError:
            return Answer([], seconds, done.stderr[-300:] or "no answer")
        return Answer([Found(row["path"], row["line"], row["message-id"]) for row in rows], seconds)


class TorchFix:
    name = "TorchFix"

    def __init__(self, command: str) -> None:
        self._command = [*shlex.split(command), "-j", "1", "--select", "ALL"]

    def check(self, folder: Path, targets: Sequence[str]) -> Answer:
        done, seconds = timed([*self._command, *targets], folder)
        matches = [match for line in done.stdout.splitlines() if (match := _TORCHFIX_LINE.match(line))]
        return Answer([Found(match[1], int(match[2]), match[3]) for match in matches], seconds)


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--zerograd", metavar="COMMAND", default=f"{sys.executable} -m zerograd")
    parser.add_argument("--dslinter", metavar="PYLINT", help="a pylint that has dslinter installed beside it")
    parser.add_argument(
        "--dslinter-rules", choices=("one", "all"), default="one", help="its rule about gradients, or all"
    )
    parser.add_argument("--torchfix", metavar="COMMAND")


def chosen(options: Namespace, *, everything: bool = True) -> list[Tool]:
    """Ours first, with all it has to say or as people call it; then those that were named."""
    tools: list[Tool] = [Zerograd(options.zerograd, everything=everything)]
    if options.dslinter:
        tools.append(Dslinter(options.dslinter, whole=options.dslinter_rules == "all"))
    if options.torchfix:
        tools.append(TorchFix(options.torchfix))
    return tools


def named_files(folder: Path) -> list[str]:
    """The Python files below a folder, as every checker is given them: by name, so that all read the same."""
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.py") if file.is_file())


def timed(command: Sequence[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    before = _children()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=PATIENCE)
    return done, _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
