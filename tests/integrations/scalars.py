"""What TensorBoard reads of the event files in a folder."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

HERE = Path(__file__).parent
QUIET = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1"}


class Scalars(NamedTuple):
    values: dict[str, list[float]]  # of each tag, in order
    texts: list[str]
    files: int


def logged(folder: Path) -> Scalars:
    files = sorted(file.parent for file in folder.rglob("events.out.tfevents.*"))
    values: dict[str, list[float]] = {}
    texts: list[str] = []
    for home in dict.fromkeys(files):
        read = EventAccumulator(str(home)).Reload()
        tags = read.Tags()
        values |= {tag: [event.value for event in read.Scalars(tag)] for tag in tags["scalars"]}
        texts += [
            event.tensor_proto.string_val[0].decode()
            for tag in tags["tensors"]
            if "zerograd/finding" in tag
            for event in read.Tensors(tag)
        ]
    return Scalars(values, texts, len(files))


def trained(script: str, folder: Path) -> str:
    """What the script said on standard error. It trains as it should in `right`, and with its bug in `wrong`."""
    done = subprocess.run(
        [sys.executable, script, str(folder)],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **QUIET},
    )
    assert done.returncode == 0, done.stderr
    for run in ("right", "wrong"):
        page = (folder / run / "zerograd.html").read_text()
        assert page.startswith("<!doctype html>")
        assert ('"code":"ZG' in page) == (run == "wrong")
    return done.stderr
