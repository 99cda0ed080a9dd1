"""From pip install of the wheel, in an environment of its own without torch, to the first finding on one's own file.

usage: python benchmarks/first_finding.py WHEEL [rounds]
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
LIMIT = 1.0  # seconds
SCRIPT = """\
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for x in torch.ones(8, 2, 4):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
"""


def timed(command: list[str], *, status: int) -> tuple[float, float]:
    """Seconds by the clock, and of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == status, done.stdout + done.stderr
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        home = Path(folder)
        script = home / "train.py"
        script.write_text(SCRIPT)
        wall, cpu = timed([str(home / "bin" / "pip"), "install", "--quiet", str(wheel)], status=0)
        print(f"pip install {wheel.name}: {wall:.1f} s, {cpu:.1f} s of CPU")
        check = [str(home / "bin" / "zerograd"), "check", "--no-cache", str(script)]
        first = timed(check, status=1)
        times = [timed(check, status=1) for _ in range(ROUNDS)]
    print(f"the first zerograd check: {first[0]:.3f} s, {first[1]:.3f} s of CPU")
    wall, cpu = (statistics.median(one) for one in zip(*times, strict=True))
    print(f"each of {ROUNDS} more (medians): {wall:.3f} s, {cpu:.3f} s of CPU")
    print(f"limit {LIMIT:.0f} s: {'met' if first[0] <= LIMIT else 'NOT met'}")
    return first[0] > LIMIT


if __name__ == "__main__":
    sys.exit(main())
