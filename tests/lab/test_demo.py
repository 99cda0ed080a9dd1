from pathlib import Path

from zerograd.lab.demo import play


def test_the_bug_is_found_proved_and_gone(tmp_path: Path) -> None:
    said: list[str] = []
    assert play(tmp_path / "demo", said.append)
    text = "\n".join(said)
    assert text.count("ZG001") >= 3
    assert "seen 315 times" in text
    assert "every gradient accounted for" in text
    assert len(text.splitlines()) < 60
