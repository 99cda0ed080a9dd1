"""What `zerograd check` costs before it reads anything: CPU time above a bare Python, interleaved in one run.

usage: python benchmarks/startup.py [rounds]
"""

import os
import resource
import statistics
import subprocess
import sys

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 30
LIMIT_MS = 60
COMMANDS = {
    "bare python": [sys.executable, "-c", "pass"],
    "zerograd check --help": [os.path.join(os.path.dirname(sys.executable), "zerograd"), "check", "--help"],
    "python -m zerograd check --help": [sys.executable, "-m", "zerograd", "check", "--help"],
    "zerograd check (empty file)": [sys.executable, "-m", "zerograd", "check", "--isolated", os.devnull],
}


def cpu_ms(command: list[str]) -> float:
    """User and system time of one child, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main() -> int:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            times[name].append(cpu_ms(command))
    bare = statistics.median(times["bare python"])
    worst = 0.0
    for name, taken in times.items():
        above = statistics.median(taken) - bare
        worst = max(worst, above)
        print(f"{name:<32} {statistics.median(taken):6.1f} ms CPU, {above:+6.1f} above bare (median of {ROUNDS})")
    print(f"limit {LIMIT_MS} ms: {'met' if worst <= LIMIT_MS else 'NOT met'}")
    return worst > LIMIT_MS


if __name__ == "__main__":
    sys.exit(main())
