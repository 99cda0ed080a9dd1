"""%load_ext zerograd, in a real kernel: findings stand under the cell that made them."""

import os
from pathlib import Path

import nbclient
import nbformat
import pytest

CELLS = [
    "%load_ext zerograd",
    "import torch\nweight = torch.nn.Parameter(torch.ones(3))\noptimizer = torch.optim.SGD([weight], lr=0.1)",
    "def train():\n    for _ in range(3):\n        weight.sum().backward()\n        optimizer.step()",
    "train()",
    "optimizer.zero_grad()\nweight.sum().backward()\noptimizer.step()",
    "train()",
    "%zerograd status",
    "%zerograd report page.html",
    "%zerograd history",
    "%unload_ext zerograd",
    "train()",
]


@pytest.mark.filterwarnings("ignore")  # of the kernel's transport
def test_findings_stand_under_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setitem(os.environ, name, str(tmp_path))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert [len(shown) for shown in outputs] == [1, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0]
    told = outputs[3][0].data
    assert told["text/plain"].startswith(
        "In[3]:4:1: ZG001 optimizer.step() uses gradients left over from the previous step"
    )
    assert "  4 |     optimizer.step()" in told["text/plain"]
    assert "adds to gradients that optimizer.step() on line 4 has already used" in told["text/html"]
    assert outputs[5][0].data["text/plain"] == told["text/plain"]  # run again, told again
    counted = "zerograd: 1 error; 7 steps, 7 backwards, 1 slot audited\n"
    assert outputs[0][0].text == "zerograd: the cells below are audited; %zerograd status, %zerograd report\n"
    status, report, unknown, end = (shown[0].text for shown in outputs[6:10])
    assert status.startswith("In[3]:4:1: ZG001 ")
    assert status.endswith(counted)
    assert report == "zerograd: report in page.html\n"
    assert '"code":"ZG001"' in (tmp_path / "page.html").read_text()
    assert unknown == "zerograd: no %zerograd history: there are %zerograd status and %zerograd report [FILE]\n"
    assert end == counted
