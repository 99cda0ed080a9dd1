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
LIMIT = 10.0  # seconds, from pip install to the first finding
GROWTH = 55  # MB that the environment may grow by
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


def megabytes(folder: Path) -> float:
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if not file.is_symlink()) / 1e6


def main() -> int:
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        home = Path(folder)
        before = megabytes(home)
        script = home / "train.py"
        script.write_text(SCRIPT)
        wall, cpu = timed([str(home / "bin" / "pip"), "install", "--quiet", str(wheel)], status=0)
        print(f"pip install {wheel.name}: {wall:.1f} s, {cpu:.1f} s of CPU")
        check = [str(home / "bin" / "zerograd"), "check", "--no-cache", str(script)]
        first = timed(check, status=1)
        growth = megabytes(home) - before
        times = [timed(check, status=1) for _ in range(ROUNDS)]
    print(f"the first zerograd check: {first[0]:.3f} s, {first[1]:.3f} s of CPU")
    medians = [statistics.median(one) for one in zip(*times, strict=True)]
    print(f"each of {ROUNDS} more (medians): {medians[0]:.3f} s, {medians[1]:.3f} s of CPU")
    total = wall + first[0]
    print(f"from pip install to the first finding: {total:.1f} s, {cpu + first[1]:.1f} s of CPU")
    print(f"limit {LIMIT:.0f} s: {'met' if total <= LIMIT else 'NOT met'}")
    print(f"the environment grew by {growth:.0f} MB; limit {GROWTH} MB: {'met' if growth <= GROWTH else 'NOT met'}")
    return total > LIMIT or growth > GROWTH


if __name__ == "__main__":
    sys.exit(main())
