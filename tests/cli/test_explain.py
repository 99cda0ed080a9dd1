"""zerograd explain: the page of errors, wherever zerograd is installed."""

import pytest

from zerograd.cli import main


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
