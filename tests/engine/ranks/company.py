"""Processes that train together over gloo and run the checks of one file: started once, for all of its tests.

A checks file has functions named `check_...`, each called on every rank in the same order. What a rank has to say about
each is written to a file; the tests read it.
"""

import datetime
import importlib
import json
import os
import subprocess
import sys
import traceback
from contextlib import ExitStack
from pathlib import Path

LIMIT = 900  # seconds for all checks of a file: a hang is a failure, not a wait
PATIENCE = 300  # seconds for all ranks to have started: on a busy machine one imports torch long before another


def told_by(
    checks: str, folder: Path, *, ranks: int, only: tuple[str, ...] = (), timeout: int = 60
) -> dict[str, list[str]]:
    """What each rank says about each check, or about these: "ok", or how it failed."""
    tests = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tests.parent / "src"), str(tests)]),
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": str(ranks),
        "TIMEOUT": str(timeout),  # seconds that ranks wait for each other
    }
    with ExitStack() as open_files:
        said = [open_files.enter_context((folder / f"stderr{rank}").open("w")) for rank in range(ranks)]
        started = [
            subprocess.Popen(
                [sys.executable, __file__, checks, str(folder), str(rank), str(ranks), *only],
                env={**environment, "RANK": str(rank)},
                cwd=folder,
                stderr=said[rank],
            )
            for rank in range(ranks)
        ]
        try:
            for process in started:
                process.wait(timeout=LIMIT)
        finally:
            for process in started:
                process.kill()
                process.wait()
    told: dict[str, list[str]] = {}
    for rank in range(ranks):
        path = folder / f"rank{rank}.json"
        heard = json.loads(path.read_text()) if path.exists() else {"start": (folder / f"stderr{rank}").read_text()}
        for name, how in heard.items():
            told.setdefault(name, []).append(how)
    return told


def names_of(checks: str) -> list[str]:
    text = (Path(__file__).parents[2] / (checks.replace(".", "/") + ".py")).read_text()
    return [line.split("(")[0].removeprefix("def ") for line in text.splitlines() if line.startswith("def check_")]


def _main(checks: str, folder: str, rank: int, ranks: int, only: list[str]) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    module = importlib.import_module(checks)
    store = dist.FileStore(f"{folder}/meeting", ranks)
    store.set(f"ready {rank}", "")
    store.wait([f"ready {one}" for one in range(ranks)], datetime.timedelta(seconds=PATIENCE))
    limit = datetime.timedelta(seconds=int(os.environ["TIMEOUT"]))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks, timeout=limit)
    said = {}
    for name in only or names_of(checks):
        try:
            getattr(module, name)(rank, ranks)
            said[name] = "ok"
        except BaseException:
            said[name] = traceback.format_exc()
        Path(folder, f"rank{rank}.json").write_text(json.dumps(said))
    dist.destroy_process_group()


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
