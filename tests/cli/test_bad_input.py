"""Bad input anywhere: one clear sentence, the nearest valid name, exit 2, no traceback."""

import re
from pathlib import Path

import pytest

from zerograd.cli import main

CASES = {
    "command": (["chek"], "unknown command 'chek'", "Did you mean 'check'?"),
    "option": (["check", "--posible"], "unknown option '--posible'", "Did you mean '--possible'?"),
    "format": (["check", "--output-format", "jsn"], "unknown output format 'jsn'", "Did you mean 'json'?"),
    "rule": (["rule", "ZG01x"], "unknown rule 'ZG01x'", "Did you mean 'ZG"),
    "rule name": (["check", "--select", "stale-acumulation"], "unknown rule", "Did you mean 'stale-accumulation'?"),
    "path": (["check", "trian.py"], "no file or folder 'trian.py'", "Did you mean 'train.py'?"),
    "folder": (["check", "no/such/place.py"], "no file or folder 'no/such/place.py'", ""),
    "script": (["run", "trian.py"], "no script 'trian.py'", "Did you mean 'train.py'?"),
    "no script": (["run"], "no script to run", "zerograd run train.py"),
    "a notebook": (["run", "train.ipynb"], "train.ipynb is a notebook", "%load_ext zerograd"),
    "module": (["run", "-m", "no.such.module"], "no module 'no.such.module'", ""),
    "claim": (["lab", "D05"], "unknown claim 'D05'", "Did you mean 'C05'?"),
    "shell": (["completion", "bsh"], "unknown shell 'bsh'", "Did you mean 'bash'?"),
    "config file": (["check", "--config", "none.toml"], "no config file 'none.toml'", ""),
    "config key": (["check", "--config", "key.toml"], "unknown key in key.toml 'slect'", "Did you mean 'select'?"),
    "config type": (["check", "--config", "type.toml"], "select is a list of strings, not 'ZG001'", ""),
    "config rule": (["check", "--config", "rule.toml"], "unknown rule 'ZG999'", "ZG"),
    "config table": (["check", "--config", "table.toml"], "per-file-ignores is a table of lists of strings", ""),
    "config files' rule": (["check", "--config", "files.toml"], "unknown rule 'ZG999'", "ZG"),
    "config format": (["check", "--config", "format.toml"], "unknown output format 'ful'", "Did you mean 'full'?"),
    "config syntax": (["check", "--config", "broken.toml"], "broken.toml: not TOML", ""),
    "option value": (["check", "--color", "green"], "invalid choice: 'green'", "See zerograd check --help."),
    "number of processes": (["check", "--jobs", "none"], "'none' is not a number of processes", "check --help."),
    "no baseline": (["check", "--baseline", "none.json"], "no baseline 'none.json'", "--write-baseline"),
    "no baseline named": (["check", "--write-baseline"], "no baseline to write", "--baseline"),
    "broken baseline": (["check", "--baseline", "key.toml"], "key.toml: cannot be read as a baseline", ""),
    "old baseline": (["check", "--baseline", "old.json"], "old.json: a baseline of another version: 0", ""),
    "unwritable baseline": (["check", "--baseline", "no/b.json", "--write-baseline"], "cannot be written", ""),
    "counts": (["check", "--statistics", "--output-format", "sarif"], "statistics have no sarif format", "json"),
    "extended rule": (["check", "--extend-select", "ZG0011"], "unknown rule 'ZG0011'", "Did you mean 'ZG001'?"),
    "output file": (["check", "--output-file", "no/such/file"], "cannot be written", ""),
}


@pytest.mark.parametrize(("argv", "what", "cure"), CASES.values(), ids=CASES)
def test_bad_input(
    argv: list[str],
    what: str,
    cure: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "key.toml").write_text('slect = ["ZG001"]\n')
    (tmp_path / "type.toml").write_text('select = "ZG001"\n')
    (tmp_path / "rule.toml").write_text('select = ["ZG999"]\n')
    (tmp_path / "table.toml").write_text('per-file-ignores = ["ZG001"]\n')
    (tmp_path / "files.toml").write_text('per-file-ignores = { "a.py" = ["ZG999"] }\n')
    (tmp_path / "format.toml").write_text('output-format = "ful"\n')
    (tmp_path / "old.json").write_text('{"version": 0, "findings": []}')
    (tmp_path / "broken.toml").write_text("select = [\n")
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert what in err.splitlines()[0]
    assert cure in err
    assert "Traceback" not in err
    assert (slug := re.search(r"\n  See docs/errors\.md#([\w-]+) \(zerograd explain \1\)\n$", err))
    assert main(["explain", slug[1]]) == 0


def test_a_crash_is_ours_and_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def crash(argv: list[str]) -> int:
        raise KeyError("oops")

    monkeypatch.setattr("zerograd.cli.rule.main", crash)
    monkeypatch.delenv("ZEROGRAD_DEBUG", raising=False)
    assert main(["rule", "ZG001"]) == 2
    assert "which is our bug: KeyError: 'oops'" in capsys.readouterr().err
    monkeypatch.setenv("ZEROGRAD_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["rule", "ZG001"])
