"""The scripts are run by a real shell where there is one."""

import shutil
import subprocess
from importlib import import_module

import pytest

from zerograd.cli import COMMANDS, main
from zerograd.cli.completion import SHELLS


def test_bash_completes_commands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    bash = shutil.which("bash")
    assert bash is not None
    ask = "COMP_WORDS=(zerograd ch); COMP_CWORD=1; _zerograd; echo ${COMPREPLY[@]};"
    ask += "COMP_WORDS=(zerograd check --pos); COMP_CWORD=2; _zerograd; echo ${COMPREPLY[@]}"
    done = subprocess.run([bash, "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["check", "--possible"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_known(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command in script
        for option in import_module(f"zerograd.cli.{command}").parser().options():
            bare = option.lstrip("-")
            fish = f"from {command}' {'-l' if option.startswith('--') else '-s'} {bare}\n"
            line = next((line for line in script.splitlines() if line.strip().startswith(f"{command}) words=")), "")
            assert fish in f"{script}\n" if shell == "fish" else option in line.split('"')[1].split()


def test_rules_and_shells_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "fish"])
    script = capsys.readouterr().out
    assert "from rule' -a ZG001\n" in script
    assert "from completion' -a zsh\n" in script
