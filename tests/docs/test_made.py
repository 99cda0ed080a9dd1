"""What is made by a command is what that command makes today. If not: make pages."""

import runpy
from pathlib import Path

import pytest

import zerograd

DOCS = Path(__file__).parents[2] / "docs"


def made(name: str) -> dict[str, object]:
    return runpy.run_path(str(DOCS / "making" / f"{name}.py"), run_name="made")


def test_the_reference_is_up_to_date() -> None:
    page = made("api")["page"]()  # type: ignore[operator]
    assert (DOCS / "api.md").read_text() == page


@pytest.mark.parametrize("name", zerograd.__all__)
def test_the_reference_has_every_public_name(name: str) -> None:
    assert f"`zerograd.{name}`" in (DOCS / "api.md").read_text()


def test_the_diagram_is_up_to_date_and_has_every_layer() -> None:
    picture = made("diagram")["picture"]()  # type: ignore[operator]
    assert (DOCS / "pictures" / "architecture.svg").read_text() == picture
    layers = {"core", "rules", "trace", "source", "run", "attach", "engine", "report"}
    assert all(f"{layer}/" in picture for layer in layers)


def test_the_finding_is_what_a_terminal_shows() -> None:
    terminal = made("terminal")
    output = terminal["shown"]("check", "train.py")  # type: ignore[operator]
    picture = terminal["picture"]("zerograd check train.py", output)  # type: ignore[operator]
    assert (DOCS / "pictures" / "finding.svg").read_text() == picture
