"""Feeds `zerograd check` what it should never have to read, and sees that it never crashes, hangs or goes silent.

usage: python benchmarks/check/fuzz.py [--count N] [--only NUMBER]

Every input is a file. A child process reads a folder of them, one by one, with the CPU clock on each: any exception but
SourceError, any death of the child and any file over a second is a failure. Then the command itself runs on the folder:
every file that cannot be read must have exactly one line, and all the others must have been read.
"""

import argparse
import gc
import itertools
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from inputs import inputs

from zerograd.errors import SourceError
from zerograd.source.check import check_text
from zerograd.source.files.discover import read_text

LIMIT_S = 1.0
HANG_S = 5.0  # of CPU: then a file is given up, so that the campaign goes on
BATCH = 250


class Read(NamedTuple):
    """How one input was read: its outcome is "ok", "refused" or the last line of a traceback."""

    name: str
    seconds: float
    outcome: str


def read_all(folder: Path) -> None:
    """In the child: one line of output for every file, written before the next one is begun."""
    signal.signal(signal.SIGPROF, _hangs)
    gc.disable()  # as the command does
    for file in sorted(folder.iterdir()):
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, HANG_S)
        try:
            check_text(read_text(str(file)), file.name)
            outcome = "ok"
        except SourceError as error:
            outcome = "refused" if "\n" not in error.what and error.what.isprintable() else "refused in a bad line"
        except Exception:
            outcome = " ".join(line.strip() for line in traceback.format_exc().splitlines()[-3:])
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(file.name, time.process_time() - begin, outcome, sep="\t", flush=True)


def _hangs(*_: object) -> None:
    raise TimeoutError(f"still reading after {HANG_S:.0f} s of CPU")


def judged(folder: Path) -> tuple[list[Read], list[str]]:
    """How each file was read, and what is wrong about it."""
    child = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--child", str(folder)], capture_output=True, text=True
    )
    rows = [line.split("\t", 2) for line in child.stdout.splitlines()]
    reads = [Read(name, float(seconds), outcome) for name, seconds, outcome in rows]
    wrong = [f"{read.name}: {read.outcome}" for read in reads if read.outcome not in ("ok", "refused")]
    wrong += [f"{read.name}: {read.seconds:.2f} s" for read in reads if read.seconds > LIMIT_S]
    if child.returncode:
        wrong.append(f"{sorted(folder.iterdir())[len(reads)].name}: the process died: {child.returncode}")
    return reads, wrong + list(_misreported(folder, {read.name for read in reads if read.outcome == "refused"}))


def _misreported(folder: Path, refused: set[str]) -> Iterator[str]:
    """What the command says about the same folder, where it is not one line for each file that cannot be read."""
    command = [sys.executable, "-m", "zerograd", "check", "--isolated", "--no-cache", "--output-format", "concise", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True)
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    told = [line.removeprefix("zerograd: ").split(":")[0] for line in lines if line.startswith("zerograd: ")]
    if done.returncode not in (0, 1) or len(lines) != len(told) + 1:
        yield f"the command: exit {done.returncode}, {lines[-1:]}"
    if sorted(told) != sorted(refused):
        yield f"the command: told of {sorted(set(told) ^ refused)} too much or too little"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every N-th batch, from the K-th on")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="write this input to standard output")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        read_all(options.child)
        return 0
    if options.only is not None:
        sys.stdout.buffer.write(next(islice(inputs(options.only + 1), options.only, None))[1])
        return 0
    part, parts = map(int, options.part.split("/"))
    return _campaign(options.count, part, parts)


def _campaign(count: int, part: int, parts: int) -> int:
    every: list[Read] = []
    failures = written = 0
    source = inputs(count)
    for number in itertools.count():
        batch = list(islice(source, BATCH))
        if not batch:
            break
        if number % parts != part - 1:
            continue
        written += len(batch)
        with TemporaryDirectory() as folder:
            for name, content in batch:
                (Path(folder) / name).write_bytes(content)
            reads, wrong = judged(Path(folder))
        every += reads
        failures += len(wrong)
        for line in wrong:
            print(f"  failure: {line}", flush=True)
    refused = sum(read.outcome == "refused" for read in every)
    slowest = max(every, key=lambda read: read.seconds)
    print(f"{len(every)} inputs of {written}: {failures} failures; {refused} refused with one line, the others read")
    print(f"slowest: {slowest.name} {slowest.seconds:.2f} s of CPU (limit {LIMIT_S:.0f} s)")
    return 1 if failures or len(every) < written else 0


if __name__ == "__main__":
    sys.exit(main())
