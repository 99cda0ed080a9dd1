"""zerograd explain: how a finding came about, and the page of errors, wherever zerograd is installed."""

from pathlib import Path

import pytest

from report.traces import stale, trace
from zerograd.cli import main
from zerograd.rules import REGISTRY


def test_an_error_is_explained_in_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "broken-config"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("broken-config\n\nThe config is `[tool.zerograd]`")
    assert "](" not in out


def test_alone_it_prints_every_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert "\n\nempty-slots\n\n" in out
    assert "##" not in out


def test_an_unknown_word_gets_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "empty-slot"]) == 2
    assert "Did you mean 'empty-slots'?" in capsys.readouterr().err


def test_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("ZG001", "stale-accumulation"):
        assert main(["explain", word]) == 0
        assert capsys.readouterr().out.startswith("# ZG001 stale-accumulation\n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(REGISTRY["ZG001"].bad)
    return tmp_path


@pytest.mark.parametrize("word", ["train.py", "train.py:11", "train.py:11:5"])
def test_a_finding_in_source(word: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "train.py:11: ZG001 stale-accumulation"
    assert lines[3].split(maxsplit=3) == [
        "1",
        "train.py:10",
        "loss.backward()",
        "adds to gradients that optimizer.step() on line 11 has already used",
    ]
    assert lines[4].split(maxsplit=2)[:2] == ["2", "train.py:11"]
    assert [line.split(":")[0].strip() for line in lines[6:]] == ["why", "fix", "more"]


def test_a_finding_of_a_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale(here / "rank0-1.jsonl", 6)
    assert main(["explain", ".", "ZG001"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "train.py:7: ZG001 stale-accumulation at step 2 of SGD#0 at train.py:7"
    hops = [line.split("  ") for line in lines if line.strip()[:1].isdigit()]
    assert [hop[-1].strip() for hop in hops] == [
        *("nothing yet -> fresh", "fresh, as it was", "uses it: fresh -> spent"),
        *("spent -> mixed", "mixed, as it was", "uses it: mixed -> spent"),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train.py:1"], "nothing was found at train.py:1"),
        (["train.py", "ZG403"], "nothing was found at train.py"),
        (["train.py", "ZG0011"], "unknown rule 'ZG0011'"),
        (["trian.py:11"], "unknown error, rule or path 'trian.py:11'"),
        (["right"], "nothing was found at right"),
    ],
)
def test_what_is_not_there(words: list[str], told: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "right").mkdir()
    trace(here / "right" / "rank0-1.jsonl", [])
    assert main(["explain", *words]) == 2
    assert told in capsys.readouterr().err
