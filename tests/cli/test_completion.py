"""The scripts are run by a real shell where there is one."""

import shutil
import subprocess

import pytest

from zerograd.cli import COMMANDS, main


def test_bash_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    bash = shutil.which("bash")
    assert bash is not None
    ask = "COMP_WORDS=(zerograd ch); COMP_CWORD=1; _zerograd; echo ${COMPREPLY[@]};"
    ask += "COMP_WORDS=(zerograd check --pos); COMP_CWORD=2; _zerograd; echo ${COMPREPLY[@]}"
    done = subprocess.run([bash, "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["check", "--possible"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in COMMANDS)
    assert "possible" in script
