"""Every example runs as it is, warns of nothing, is short, and does what it says: each ends with its own assertions."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(FOLDER.glob("*.py"))
SITUATIONS = (
    "accumulate_tokens amp_fp16 custom_gradients ddp fsdp2 gan lbfgs multi_loss oom_split plain resume rnn_tbptt sam "
    "simultaneous two_optimizers"
)
OF_SEVERAL = ("ddp", "fsdp2", "resume")


def test_one_file_per_situation() -> None:
    assert [file.stem for file in FILES] == SITUATIONS.split()
    assert {file.stem: len(file.read_text().splitlines()) for file in FILES if file.read_text().count("\n") >= 60} == {}


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_it_runs_under_torchrun(name: str, tmp_path: Path) -> None:
    """Two processes. In resume.py one of them is killed; both go on.

    Each writes into files of its own: on one stream their lines may be torn.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    apart = ["--redirects", "1", "--log-dir", str(tmp_path / "said")]
    settings = {"OMP_NUM_THREADS": "1", "CHECKPOINTS": str(tmp_path), "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    done = subprocess.run(
        [*command, *apart, "--max-restarts", "3", str(FOLDER / f"{name}.py")],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    texts = [file.read_text() for file in (tmp_path / "said").rglob("stdout.log")]
    said = sorted(line for text in texts for line in text.splitlines() if line.startswith("rank"))
    # On a busy machine gloo may abort a process that is done: torchrun starts both again, and they say the same.
    if name == "resume":
        begun = [line for line in said if "steps" not in line]
        assert {f"rank {rank}: {how}" for rank in range(2) for how in ("begins", "goes on after step 2")} <= set(begun)
        assert all(line.endswith("begins") or "goes on after step" in line for line in begun)
        assert sum(line.endswith("begins") for line in begun) == 2
        assert len({line.partition(": ")[2] for line in said if "steps" in line}) == 1
    else:
        assert set(said) == {f"rank {rank}: 2 steps, the weights of one process" for rank in range(2)}


@pytest.mark.parametrize("file", [file for file in FILES if file.stem not in OF_SEVERAL], ids=lambda file: file.stem)
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
