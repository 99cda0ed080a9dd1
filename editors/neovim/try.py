"""The snippet of docs/editors.md that fits the Neovim of this machine, in it: a finding, its page and its fixes."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "editors.md").read_text()
SCRIPT = """\
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.ones(8, 2, 4):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
"""


def main() -> int:
    editor = shutil.which("nvim")
    if editor is None:
        print("no nvim here (Debian: apt-get install neovim): not tried")
        return 0
    version = subprocess.run([editor, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    new = tuple(map(int, re.findall(r"\d+", version)[:2])) >= (0, 11)
    snippets = re.findall(r"^```lua\n(.*?)^```", PAGE.partition("## Neovim")[2], re.M | re.S)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "init.lua").write_text(snippets[0 if new else 1])
        (home / "train.py").write_text(SCRIPT)
        command = [editor, "--headless", "-u", "init.lua", "train.py", "-S", str(HERE / "try.lua")]
        status = subprocess.run(command, cwd=home, timeout=300, check=False).returncode
    print(f"Neovim {version}: {'works' if status == 0 else 'does NOT work'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
