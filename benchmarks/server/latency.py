"""From a change in an editor to its diagnostics, over pipes, beside one check in this process; and what memory is kept.

usage: python benchmarks/server/latency.py [rounds]

Both read the same text, one after the other, so that a busy machine slows both. The first rounds warm up.
"""

import gc
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from server.client import Client  # noqa: E402
from zerograd.rules import REGISTRY  # noqa: E402
from zerograd.server.pace import REST  # noqa: E402
from zerograd.source.check import check_text  # noqa: E402
from zerograd.source.project.files import Project  # noqa: E402

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 30
WARM = 5
LOOP = '''
def train_{n}(model, optimizer, loader, scheduler, epochs=10):
    """A loop as people write it."""
    history = []
    for epoch in range(epochs):
        total = 0.0
        for index, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            if not torch.isfinite(loss):
                print("skipped", index)
                continue
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        scheduler.step()
        history.append(total / len(loader))
    return history

'''
LAYER = '''
class Block{n}(nn.Module):
    """A layer as people write it."""

    def __init__(self, width, heads=4, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        y = self.norm(x)
        x = x + self.attend(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.drop(self.narrow(torch.relu(self.wide(self.norm(x)))))

'''


def script(loops: int) -> str:
    """A thousand lines: one bug, so many loops, and layers."""
    text = REGISTRY["ZG001"].bad + "".join(LOOP.replace("{n}", str(n)) for n in range(loops))
    count = (1000 - text.count("\n")) // LAYER.count("\n")
    text += "".join(LAYER.replace("{n}", str(n)) for n in range(max(count, 0)))
    return text + "\n" * (1000 - text.count("\n"))


def measure(client: Client, name: str, text: str) -> tuple[list[float], list[float]]:
    client.open(name, text)
    project = Project(".")
    here: list[float] = []
    there: list[float] = []
    for version in range(2, ROUNDS + WARM + 2):
        changed = f"{text}# {version}\n"
        time.sleep(1.5 * REST)  # a change after a pause, as the first of a burst is
        started = time.perf_counter()
        check_text(changed, name, project=project)
        here.append(time.perf_counter() - started)
        started = time.perf_counter()
        found = client.change(name, changed, version=version)
        there.append(time.perf_counter() - started)
        assert [one["code"] for one in found] == ["ZG001"]
    return here[WARM:], there[WARM:]


def cpu_ms(client: Client) -> float:
    """That the server has used so far."""
    fields = Path(f"/proc/{client.process}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(client: Client) -> float:
    status = Path(f"/proc/{client.process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _told(seconds: list[float]) -> str:
    return f"{1e3 * statistics.median(seconds):.1f} ms (least {1e3 * min(seconds):.1f})"


def main() -> None:
    gc.disable()  # as the checker does
    with tempfile.TemporaryDirectory() as folder, Client(Path(folder)) as client:
        for loops in (4, 45):
            before = cpu_ms(client)
            here, there = measure(client, f"loops_{loops}.py", script(loops))
            used = (cpu_ms(client) - before) / (ROUNDS + WARM + 1)
            ratio = statistics.median(b / a for a, b in zip(here, there, strict=True))
            print(
                f"1,000 lines, {loops} loops: check {_told(here)}, change to diagnostics {_told(there)}, "
                f"ratio {ratio:.2f} (medians of {ROUNDS}); the server's CPU {used:.1f} ms a change"
            )
        before = resident_mb(client)
        for version in range(1000, 1200):
            client.tell("textDocument/didClose", {"textDocument": {"uri": client.uri("again.py")}})
            client.open("again.py", f"{script(45)}# {version}\n")
        print(f"resident after 200 more texts: {resident_mb(client):.0f} MB, before them {before:.0f} MB")


if __name__ == "__main__":
    main()
