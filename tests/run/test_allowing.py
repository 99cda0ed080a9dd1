"""One comment serves `zerograd check` and a run, wherever the two tell the fault."""

from pathlib import Path

import pytest

import zerograd
from zerograd.rules import REGISTRY

STALE, OFF_BY_ONE = REGISTRY["ZG001"].bad, REGISTRY["ZG103"].bad
STEP, BACKWARD, GUARD = "optimizer.step()", "loss.backward()", "if i % accumulation_steps == 0:"


def found(text: str, folder: Path) -> list[str]:
    path = folder / f"{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    with zerograd.audit(on_finding="collect") as watch:
        exec(compile(text, str(path), "exec"), {})
    return [finding.code for finding in watch.findings]


def with_comment(text: str, line: str, comment: str) -> str:
    assert line in text
    return "\n".join(f"{one.partition('  #')[0]}  {comment}" if line in one else one for one in text.splitlines())


@pytest.mark.parametrize(
    ("text", "line", "comment"),
    [
        (STALE, STEP, "# zerograd: ignore[ZG001] summed on purpose"),
        (STALE, STEP, "# zerograd: ignore[stale-accumulation]"),
        (STALE, STEP, "# zerograd: ignore"),
        (STALE, STEP, "# noqa: ZG001"),
        (STALE, BACKWARD, "# zerograd: ignore[ZG001] the finding names this line too"),
        (STALE, "import torch", "# zerograd: ignore-file[ZG001]"),
        (OFF_BY_ONE, GUARD, "# zerograd: ignore[ZG103] where check tells it"),
    ],
)
def test_allowed(text: str, line: str, comment: str, tmp_path: Path) -> None:
    assert found(text, tmp_path)
    assert found(with_comment(text, line, comment), tmp_path) == []


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        (STEP, "# zerograd: ignore[ZG004] another rule"),
        (STEP, "# noqa: E501"),
        (BACKWARD, "# zerograd: ignore"),  # every rule, but on a line that is not the finding's own
        ("import torch", "# zerograd: ignore[ZG001]"),
    ],
)
def test_not_allowed(line: str, comment: str, tmp_path: Path) -> None:
    assert found(with_comment(STALE, line, comment), tmp_path) == ["ZG001"]


def test_what_is_allowed_is_neither_raised_nor_counted(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(with_comment(STALE, STEP, "# zerograd: ignore[ZG001]"))
    with zerograd.audit(on_finding="raise") as watch:
        exec(compile(path.read_text(), str(path), "exec"), {})
    assert watch.counts().startswith("every gradient accounted for")
