"""Findings of notebooks, in their cells."""

import json

from zerograd.core.findings import Finding
from zerograd.source.sweep import Reader, Settings

SETUP = "import torch\nmodel = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
LOOP = "%%time\nfor x in y:\n    loss = model(x).mean()\n    loss.backward()\n    optimizer.step()"


def notebook(*sources: str) -> str:
    cells: list[dict[str, object]] = [{"cell_type": "code", "source": source} for source in sources]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "# training"}, *cells], "nbformat": 4})


def findings(*sources: str) -> list[Finding]:
    return Reader(Settings()).judge(notebook(*sources), "n.ipynb")[0]


def test_a_loop_is_judged_with_what_other_cells_bind() -> None:
    (found,) = findings(SETUP, LOOP)
    assert str(found).startswith("n.ipynb:cell 3:5:5: ZG001 ")
    assert "optimizer.step() on line 5 has already used" in found.related[0].message
    assert [(other.site.cell, other.site.line) for other in found.related] == [(3, 4)]
    assert found.fix is not None
    assert [(edit.cell, edit.line, edit.text) for edit in found.fix.edits] == [(3, 3, "    optimizer.zero_grad()\n")]


def test_cells_run_in_their_order() -> None:
    steps = findings(SETUP, "loss = model(x).mean()", "loss.backward()", "optimizer.step()", "optimizer.step()")
    assert [(one.code, one.site.cell) for one in steps] == [("ZG004", 6)]
    forward = "loss = model(x).mean()"
    assert findings(SETUP, "optimizer.zero_grad()", forward, "loss.backward()\noptimizer.step()") == []


def test_a_function_of_another_cell_is_named_by_it() -> None:
    function = "def update(loss):\n    loss.backward()\n    optimizer.step()"
    (found,) = findings(SETUP, function, "for x in y:\n    update(model(x).mean())")
    assert (found.code, found.site.cell, found.site.line) == ("ZG001", 3, 3)


def test_a_broken_cell_costs_one_line() -> None:
    found, remarks = Reader(Settings()).judge(notebook(SETUP, "for", LOOP), "n.ipynb")
    assert [finding.code for finding in found] == ["ZG001"]
    assert list(remarks) == ["n.ipynb: cell 3 is not Python and is left out: invalid syntax"]
