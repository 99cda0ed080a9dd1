"""zerograd check --fix and --diff as their users call them."""

import io
import json
from pathlib import Path

import pytest

from zerograd.cli import main
from zerograd.rules import REGISTRY

UNSAFE, SAFE = REGISTRY["ZG001"], REGISTRY["ZG403"]
BOTH = ["--fix", "--unsafe-fixes"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZEROGRAD_OUTPUT_FORMAT", raising=False)
    (tmp_path / "bad.py").write_text(UNSAFE.bad)


def test_an_unsafe_fix_waits_to_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--fix"]) == 1
    assert Path("bad.py").read_text() == UNSAFE.bad
    assert capsys.readouterr().err == "1 error; 1 file read, 1 fixable with --fix --unsafe-fixes\n"
    assert main(["check", *BOTH]) == 0
    assert "    optimizer.zero_grad()\n    loss" in Path("bad.py").read_text()
    assert capsys.readouterr() == ("", "nothing found; 1 file read, 1 fixed\n")
    assert main(["check", *BOTH]) == 0
    assert capsys.readouterr().err == "nothing found; 1 file read\n"


def test_a_fix_can_be_made_to_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *BOTH, "--exit-non-zero-on-fix"]) == 1
    assert main(["check", *BOTH, "--exit-non-zero-on-fix"]) == 0


def test_a_safe_fix_needs_no_more_than_fix(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.py").write_text(SAFE.bad)
    assert main(["check", "--fix"]) == 0
    assert Path("bad.py").read_text() == SAFE.bad  # notes are not shown
    assert main(["check", "--notes"]) == 0
    assert capsys.readouterr().err.endswith("\n1 note; 1 file read, 1 fixable with --fix\n")
    assert main(["check", "--fix", "--notes"]) == 0
    assert "model.zero_grad()\n    loss" in Path("bad.py").read_text()


def test_a_diff_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--diff"]) == 0
    assert capsys.readouterr() == ("", "1 fix not shown: it changes what is trained (--unsafe-fixes)\n")
    assert main(["check", "--diff", "--unsafe-fixes"]) == 1
    assert capsys.readouterr().out == (
        "--- bad.py\n+++ bad.py\n@@ -6,6 +6,7 @@\n"
        " loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]\n \n"
        " for x, y in loader:\n+    optimizer.zero_grad()\n"
        "     loss = nn.functional.mse_loss(model(x), y)\n     loss.backward()\n"
        "     optimizer.step()  # error: [ZG001]\n"
    )
    assert Path("bad.py").read_text() == UNSAFE.bad


def test_only_the_rules_that_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *BOTH, "--select", "ZG002"]) == 0
    assert Path("bad.py").read_text() == UNSAFE.bad


def test_the_json_has_the_fix(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # from the cache as well
        assert main(["check", "--output-format", "json"]) == 1
        (finding,) = json.loads(capsys.readouterr().out)
        assert finding["fix"] == {
            "message": "call optimizer.zero_grad() at the top of the loop",
            "safety": "unsafe",
            "edits": [
                {
                    "line": 9,
                    "column": 1,
                    "end_line": 9,
                    "end_column": 1,
                    "text": "    optimizer.zero_grad()\n",
                    "cell": None,
                }
            ],
        }


def test_standard_input_is_mended_to_standard_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, status, clears in ((BOTH, 0, 1), (["--fix"], 1, 0), (["--diff"], 0, 0)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(UNSAFE.bad.encode())))
        assert main(["check", "-", *arguments]) == status
        out, err = capsys.readouterr()
        assert out.count("zero_grad") == clears
        assert ("ZG001" in err) == (arguments == ["--fix"])
    assert main(["check", "-", "bad.py", "--fix"]) == 2


def test_encoding_and_line_ends_stay() -> None:
    raw = b"# -*- coding: latin-1 -*-\r\n# caf\xe9\r\n" + UNSAFE.bad.replace("\n", "\r\n").encode()
    Path("bad.py").write_bytes(raw)
    assert main(["check", *BOTH]) == 0
    assert Path("bad.py").read_bytes().replace(b"    optimizer.zero_grad()\r\n", b"") == raw


def test_a_file_that_cannot_be_written_keeps_its_findings(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.py").write_bytes(b"# coding: utf-7\n# +AGE-\n" + UNSAFE.bad.encode().replace(b"+", b"+-"))
    assert main(["check", *BOTH]) == 1
    out, err = capsys.readouterr()
    assert "ZG001" in out
    assert "zerograd: bad.py: cannot be fixed: its encoding does not give its bytes back\n" in err


def test_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    cells = [
        {"cell_type": "code", "source": ["!pip install torch\n", "import torch"], "outputs": []},
        {"cell_type": "code", "source": UNSAFE.bad.splitlines(keepends=True), "outputs": [{"text": "1.0"}]},
    ]
    text = json.dumps({"cells": cells, "nbformat": 4}, indent=1) + "\n"
    Path("bad.py").unlink()
    Path("n.ipynb").write_text(text)
    assert main(["check"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("n.ipynb:cell 2:11:5: ZG001 ")
    assert "11 |     optimizer.step()  # error: [ZG001]\n" in out
    assert main(["check", "--diff", "--unsafe-fixes"]) == 1
    assert capsys.readouterr().out.startswith("--- n.ipynb:cell 2\n+++ n.ipynb:cell 2\n@@ -6,6 +6,7 @@\n")
    assert main(["check", *BOTH]) == 0
    assert Path("n.ipynb").read_text().replace('    "    optimizer.zero_grad()\\n",\n', "") == text


GAN = """\
import torch
from torch import nn

G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
for real in torch.randn(20, 8, 2):
    opt_g.zero_grad()
    fake = G(torch.randn(8, 2))
    g_loss = nn.functional.softplus(-D(fake)).mean()
    g_loss.backward()
    opt_g.step()
    d_loss = (nn.functional.softplus(-D(real)) + nn.functional.softplus(D(fake.detach()))).mean()
    d_loss.backward()
    opt_d.step()
"""


def test_one_clear_cures_two_findings(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.py").write_text(GAN)
    assert main(["check", "--output-format", "concise"]) == 1
    assert {line.split()[1] for line in capsys.readouterr().out.splitlines()} == {"ZG005", "ZG006"}
    assert main(["check", *BOTH]) == 0
    assert Path("bad.py").read_text() == GAN.replace(
        "    d_loss.backward", "    opt_d.zero_grad()\n    d_loss.backward"
    )
