"""TrainCheck's documented steps on a correct and a faulty loop, timed; and `zerograd run` on the same two.

    python benchmarks/audit/traincheck.py BIN

BIN: the folder with the commands of an environment that has traincheck==0.2.0 and torch, which are no part of ours.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PEER = Path(__file__).parent / "peer"
TRACK = ["--models-to-track", "model"]
COUNTED = ("Total failed", "Total passed", "zerograd: ")  # lines that say what came of it


def main() -> None:
    commands = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("correct.py", "faulty.py"):
            (Path(folder) / name).write_text((PEER / name).read_text())
        collect, infer, check = (str(commands / f"traincheck-{name}") for name in ("collect", "infer", "check"))
        known = ["--invariants", "invariants.json"]
        for name in ("correct", "faulty"):
            timed(folder, str(commands / "python"), f"{name}.py")
            timed(folder, sys.executable, "-m", "zerograd", "run", f"{name}.py")
        timed(folder, collect, "--pyscript", "correct.py", *TRACK, "--output-dir", "reference")
        timed(folder, infer, "-f", "reference", "-o", "invariants.json")
        for name in ("correct", "faulty"):
            timed(folder, collect, "--pyscript", f"{name}.py", *TRACK, *known, "--output-dir", name)
            timed(folder, check, "-f", name, "-i", "invariants.json")


def timed(folder: str, *command: str) -> None:
    begun = time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
    seconds = time.perf_counter() - begun
    told = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(COUNTED) or _is_number(line)]
    words = " ".join([os.path.basename(command[0]), *command[1:]])
    print(f"{seconds:7.1f} s  status {done.returncode}  {words}: {'; '.join(told)}", flush=True)


def _is_number(line: str) -> bool:
    """The result of the training, which TrainCheck passes on in colour."""
    try:
        float(line.removeprefix("\x1b[94m").removesuffix("\x1b[0m"))
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    main()
