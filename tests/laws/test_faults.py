"""Whatever happens to a process, and whenever: the run that is started again ends with the weights it would have had.

`make faults` tries 200 events; here are a few, always the same.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

EVENTS = int(os.environ.get("ZEROGRAD_FAULTS", "4"))
SEED = os.environ.get("ZEROGRAD_SEED", "20261115")
ROOT = Path(__file__).parents[2]


def test_a_fault_changes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "laws" / "campaign.py"), str(tmp_path / "runs"), str(EVENTS), SEED],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sum(found["events"].values()) == EVENTS
    assert (found["hung"], found["unreadable"], found["unfinished"]) == ([], [], [])
    assert found["equal"] == found["runs"], found
