"""docs/check.md tells every option, format and key of the config. Its commands are run by test_commands.py."""

import re
import tomllib
from pathlib import Path

from zerograd.cli.flags import parser
from zerograd.report.formats import FORMATS
from zerograd.source.files.config import Config, load_config

PAGE = (Path(__file__).parents[2] / "docs" / "check.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


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
