"""docs/check.md is what happens: its commands are run in their order, and print what the page shows."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from zerograd.cli.flags import parser
from zerograd.report.formats import FORMATS
from zerograd.source.config import Config, load_config

PAGE = (Path(__file__).parents[2] / "docs" / "check.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(blocks("text")[0])
    for name in ("ZEROGRAD_OUTPUT_FORMAT", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    for block in blocks("console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            done = subprocess.run(
                command,
                shell=True,
                cwd=tmp_path,
                env={"PATH": path},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert done.stdout == expected, command


def test_the_config(tmp_path: Path) -> None:
    (text,) = (block for block in blocks("toml") if "tool.zerograd" in block)
    file = tmp_path / "pyproject.toml"
    file.write_text(text)
    assert load_config(str(file), ".").ignore == ("ZG102",)
    told = set(tomllib.loads(text)["tool"]["zerograd"])
    assert told == {field.replace("_", "-") for field in Config._fields if field != "root"}


def test_every_option_and_format_is_told() -> None:
    told = set(re.findall(r"`(?:zerograd check )?(-[-\w]+)", PAGE)) | set(re.findall(r" (--[-\w]+)", PAGE))
    assert set(parser().options()) - told <= {"-h", "--help", "--quiet"}
    assert set(re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+) \|", PAGE, re.M)) >= {
        "`full`",
        "`sarif`",
        "`json`, `json-lines`",
    }
    assert all(f"`{form}`" in PAGE for form in FORMATS)


def test_the_hook() -> None:
    hook = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    entry = re.search(r"entry: zerograd check (.*)", hook)
    assert entry
    assert parser().parse_args(entry[1].split()).force_exclude
