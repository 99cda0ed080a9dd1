"""How long a report of so many events takes, how much memory, and how large the page is: `size.py 1000000`."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = {
    "clear": ("zero_grad()", 40, {}),
    "deposit": ("backward()", 44, {"norm": 1.234567, "loss": 0.654321, "items": 32.0, "took": 0.012345}),
    "clip": ("clip_grad_norm_()", 46, {"norm": 1.234567, "limit": 1.0}),
    "consume": ("AdamW.step()", 47, {"took": 0.004}),
}
LOOP = ["clear", *["deposit"] * 4, "clip", "consume"]


def write(path: Path, events: int) -> None:
    """A loop of four micro-batches that forgets to clear now and then, of an optimizer of 200 parameters."""
    finding = {"code": "ZG001", "name": "stale-accumulation", "message": "AdamW.step() consumes stale gradients"}
    finding |= {"site": ["train.py", 47], "certainty": "certain", "severity": "error", "related": [], "cure": "clear"}
    with open(path, "w") as file:
        file.write(json.dumps({"schema": 1, "tool": "zerograd", "began": time.time_ns(), "findings": True}) + "\n")
        names = [[f"layers.{i}.weight" for i in range(100)], [f"layers.{i}.bias" for i in range(100)]]
        file.write(json.dumps({"optimizer": "AdamW#0", "groups": names}) + "\n")
        number = 0
        while number < events:
            stale = number % 63_000 > 62_900
            for kind in LOOP[stale:]:
                what, line, numbers = WORDS[kind]
                known = {name: value + number % 37 / 20 for name, value in numbers.items()}
                event = {"kind": kind, "slot": "AdamW#0", "site": ["train.py", line, 1, 0, 0, 0], "what": what}
                file.write(json.dumps({**event, "numbers": known, "at": 7000 * number}, separators=(",", ":")) + "\n")
                number += 1
            if stale:
                file.write(json.dumps({"finding": 0, "event": number - 1, "slot": "AdamW#0", **finding}) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace, page = Path(folder, "run.jsonl"), Path(folder, "report.html")
        write(trace, int(sys.argv[1]))
        start = time.monotonic()
        subprocess.run([sys.executable, "-m", "zerograd", "report", trace, "-o", page], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"trace {trace.stat().st_size / 1e6:.0f} MB, page {page.stat().st_size / 1e6:.1f} MB")
        print(f"{time.monotonic() - start:.1f} s, {used.ru_utime:.1f} s of CPU, {used.ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
