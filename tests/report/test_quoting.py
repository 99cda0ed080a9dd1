"""Lines of a file, with the heads of what they stand in."""

from pathlib import Path

import pytest

from report.traces import STALE
from zerograd.core.events import Site
from zerograd.core.findings import Finding
from zerograd.report.quoting import excerpts

TRAINING = """\
import torch

def train(loader):
    first()
    second()
    for batch in loader:
        a()
        b()
        if rank == 0:
            optimizer.zero_grad()

        else:
            c()
            d()
            e()
            if late:
                for _ in range(1):
                    pass
                else:
                    loss.backward()
    try:
        pass
    finally:
        f()
        g()
        optimizer.step()
"""


def shown(folder: Path, line: int, text: str = TRAINING) -> list[str]:
    (folder / "train.py").write_text(text)
    (one,) = excerpts(at(line), {"folder": str(folder)})
    return [f"{number or '...'} {text.strip()}".rstrip() for number, text, _ in one.lines]


def at(line: int) -> Finding:
    return STALE._replace(site=Site("train.py", line), related=())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (10, ["3 def train(loader):", "...", "6 for batch in loader:", "7 a()", "8 b()", "9 if rank == 0:"]),
        (26, ["3 def train(loader):", "...", "21 try:", "22 pass", "23 finally:", "24 f()", "25 g()"]),
    ],
)
def test_heads_come_with_their_lines(tmp_path: Path, line: int, expected: list[str]) -> None:
    found = shown(tmp_path, line)
    assert found[: len(expected)] == expected


def test_an_else_comes_with_what_it_is_the_other_of(tmp_path: Path) -> None:
    found = shown(tmp_path, 20)
    assert found == [
        "3 def train(loader):",
        "...",
        "6 for batch in loader:",
        "...",
        "9 if rank == 0:",
        "10 optimizer.zero_grad()",  # one line is no longer than the mark for it
        "12 else:",
        "...",
        "16 if late:",
        "17 for _ in range(1):",
        "18 pass",
        "19 else:",
        "20 loss.backward()",
        "21 try:",
        "22 pass",
    ]


def test_a_file_that_is_no_python_any_more_is_shown_without_heads(tmp_path: Path) -> None:
    assert shown(tmp_path, 4, "if (\nb\nc\nd\n") == ["2 b", "3 c", "4 d"]


def test_no_file_no_lines_no_secrets(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a\nb\n")
    assert excerpts(at(1), {"folder": str(tmp_path / "nowhere")}) == []
    assert excerpts(at(1)._replace(site=Site("secret.txt", 1)), {"folder": str(tmp_path)}) == []
