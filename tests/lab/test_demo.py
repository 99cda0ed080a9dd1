from pathlib import Path

import pytest

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
    assert "of the norm of this update came from batches already used" in text
    assert "every gradient accounted for" in text
    assert len(text.splitlines()) < 70
    assert str(folder / "demo.html") in text
    assert {"demo.html", "losses.png", "losses.svg", "train.py"} < {path.name for path in folder.iterdir()}
    curves = {line.split("  ")[1]: line.split()[-1] for line in said if line.startswith("  ")}
    assert len(curves) == 3
