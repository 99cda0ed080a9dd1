"""Every example runs as it is, warns of nothing, is short, and does what it says: each ends with its own assertions."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(FOLDER.glob("*.py"))
SITUATIONS = (
    "accumulate_tokens amp_fp16 custom_gradients gan lbfgs multi_loss oom_split plain rnn_tbptt sam simultaneous "
    "two_optimizers"
)


def test_one_file_per_situation() -> None:
    assert [file.stem for file in FILES] == SITUATIONS.split()
    assert {file.stem: len(file.read_text().splitlines()) for file in FILES if file.read_text().count("\n") >= 60} == {}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_runs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(file), run_name="__main__")
    assert capsys.readouterr().out


def test_a_gan_with_everything_takes_twelve_lines() -> None:
    """Alternating updates, accumulation over 4, clipping and mixed precision."""
    text = (FOLDER / "gan.py").read_text()
    lines = [line for line in text.split("# begin\n")[1].split("# end")[0].splitlines() if line.strip()]
    assert len(lines) <= 12
    assert "groups(loader, 4)" in text
    assert text.count("clip=1.0, autocast=torch.bfloat16, scaler=") == 2
