"""`zerograd demo`: a script with two real bugs is checked, audited while it trains, fixed, and gone with Step."""

import difflib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from zerograd.errors import ZerogradError

SCRIPTS = Path(__file__).parent / "scripts"
BUGGY, FIXED, STEPPED = "train.py", "train_fixed.py", "train_step.py"
_TELLING = 5  # epochs between two words of life
_NATS = re.compile(r"epoch \d+: ([\d.]+|nan) nats")


class Done(NamedTuple):
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


class Story(NamedTuple):
    """All that the demo has seen, for its page."""

    found: str  # what check says
    proved: str  # what the audit says
    diff: str
    gone: str  # what the audit says of the same work through Step
    step: str  # its text
    curves: dict[str, list[float]]  # nats per character by epoch, of the three scripts


def play(folder: Path, say: Callable[[str], None]) -> bool:
    """Tell the story. True if each tool did its part."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (BUGGY, FIXED, STEPPED):
        shutil.copy(SCRIPTS / name, folder)
    say(f"A transformer learns a small language in {folder / BUGGY}. It runs, the loss falls, and it is wrong twice.")

    _heading(f"1. found in the source: zerograd check {BUGGY}", say)
    check = _zerograd(folder, "check", "--isolated", "--no-cache", BUGGY)
    say(check.stdout.strip())

    _heading(f"2. proved while it trains: zerograd run --mode full {BUGGY}", say)
    run = _train(folder, "-m", "zerograd", "run", "--mode", "full", BUGGY, say=say)
    proved = _told(run.stderr)
    say(proved)

    _heading(f"3. fixed: diff {BUGGY} {FIXED}", say)
    diff = _diff(folder)
    say(diff)

    _heading(f"4. cannot be written: zerograd run --strict --mode full {STEPPED}", say)
    fixed = _train(folder, FIXED, say=say)
    step = _train(folder, "-m", "zerograd", "run", "--strict", "--mode", "full", STEPPED, say=say)
    gone = step.stderr.strip()
    say(gone)

    curves = {
        "with both bugs": _curve(run.stdout),
        "fixed by hand": _curve(fixed.stdout),
        "through Step": _curve(step.stdout),
    }
    _show(
        folder,
        Story(check.stdout.strip(), proved, diff, gone, (folder / STEPPED).read_text(encoding="utf-8"), curves),
        say,
    )
    return "ZG001" in check.stdout and "ZG001" in proved and "ZG104" in proved and step.returncode == 0


def _show(folder: Path, story: Story, say: Callable[[str], None]) -> None:
    from zerograd.lab.demopage import write_demo_page  # matplotlib costs half a second: the story has begun by then

    page = write_demo_page(folder, story)
    say("\nnats per character on new sentences, epoch by epoch:")
    for name, curve in story.curves.items():
        say(f"  {name:<16}" + " ".join(f"{value:.2f}" for value in curve[3::4]))
    say(f"\nThe story with its curves: {page}\nEverything is under {folder}{'/' if folder.name else ''}")


def _heading(text: str, say: Callable[[str], None]) -> None:
    say(f"\n--- {text} ---")


def _diff(folder: Path) -> str:
    """From the script with the bugs to one without. Both are bundled: no tool rewrites an accumulation for you yet."""
    before, after = ((folder / name).read_text(encoding="utf-8").splitlines() for name in (BUGGY, FIXED))
    lines = list(difflib.unified_diff(before, after, BUGGY, FIXED, n=1, lineterm=""))
    loop = next(number for number, line in enumerate(lines) if number > 2 and line.startswith("@@"))
    return "\n".join([*lines[:2], *lines[loop:]])  # without the first hunk, which is the docstring


def _told(stderr: str) -> str:
    """The findings and the closing line, without what was said while it ran."""
    lines = stderr.strip().splitlines()
    return "\n".join(line for line in lines if re.match(r"train\S*:\d+:|  fix: |  +\d* \||zerograd: (?!ZG)", line))


def _curve(output: str) -> list[float]:
    return [float(value) for value in _NATS.findall(output)]


def _zerograd(folder: Path, *arguments: str) -> Done:
    done = subprocess.run([sys.executable, "-m", "zerograd", *arguments], cwd=folder, capture_output=True, text=True)
    return _well(Done(done.returncode, done.stdout, done.stderr), arguments)


def _train(folder: Path, *arguments: str, say: Callable[[str], None]) -> Done:
    """Tells every few epochs that it is still at work, also on a pipe."""
    command = [sys.executable, "-u", *arguments]
    said: list[str] = []
    epochs = 0
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        for line in process.stdout or ():
            said.append(line)
            if _NATS.match(line):
                if epochs % _TELLING == 0:
                    say(f"... {arguments[-1]}, {line.partition(' per')[0]}")
                epochs += 1
        status = process.wait()
        errors.seek(0)
        return _well(Done(status, "".join(said), errors.read()), arguments)


def _well(done: Done, arguments: tuple[str, ...]) -> Done:
    if done.returncode not in (0, 1):
        raise ZerogradError(f"python {' '.join(arguments)} failed: {done.stderr.strip()}", slug="demo")
    return done
