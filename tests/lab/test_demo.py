from pathlib import Path

import pytest

from zerograd.cli import main
from zerograd.lab import demo


def test_the_bugs_are_found_proved_and_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled scripts, with 3 epochs in place of 20."""
    short = tmp_path / "scripts"
    short.mkdir()
    for script in demo.SCRIPTS.glob("*.py"):
        (short / script.name).write_text(script.read_text().replace("range(20)", "range(3)"))
    monkeypatch.setattr(demo, "SCRIPTS", short)
    said: list[str] = []
    folder = tmp_path / "demo"
    assert demo.play(folder, said.append)
    text = "\n".join(said)
    assert "of this update is old" in text
    assert "every gradient accounted for" in text
    assert len([line for line in text.splitlines() if not line.startswith("... ")]) < 70
    assert str(folder / "demo.html") in text
    assert {"demo.html", "losses.png", "losses.svg", "train.py"} < {path.name for path in folder.iterdir()}
    curves = {line.split("  ")[1]: line.split()[-1] for line in said if line.startswith("  ")}
    assert len(curves) == 3
    waiting = [line.partition(", epoch 1: ")[0] for line in said if line.startswith("... ")]
    assert waiting == ["... train.py", "... train_fixed.py", "... train_step.py"]


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    played: list[Path] = []
    monkeypatch.setattr(demo, "play", lambda folder, say: not played.append(folder))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zerograd-demo").write_text("a file stands where the folder should be")
    assert main(["demo"]) == 0
    assert played[0].parent == tmp_path
    assert played[0].is_dir()
    assert f"the demo goes to {played[0]}\n" in capsys.readouterr().err
    assert main(["demo", "--folder", "zerograd-demo/deeper"]) == 2
    assert "zerograd: zerograd-demo/deeper: cannot be written: " in capsys.readouterr().err
