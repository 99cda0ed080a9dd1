"""Statements deleted, moved and put in, however they share their lines."""

import ast

import pytest

from zerograd.source.fixes.page import Page
from zerograd.source.fixes.places import apply


def names(page: Page) -> dict[str, ast.stmt]:
    statements = (node for node in ast.walk(page.tree) if isinstance(node, ast.Expr))
    return {page.source(node): node for node in statements}


def result(text: str, page: Page, *changes: object) -> str | None:
    fix = next(page.fix("try it", *changes), None)  # type: ignore[arg-type]
    return apply(text, fix.edits) if fix is not None else None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\nb\nc\n", "a\nc\n"),
        ("a\nb", "a"),
        ("a\nb  # why\nc\n", "a\nc\n"),
        ("a; b; c\n", "a; c\n"),
        ("a; b\n", "a\n"),
        ("b; c\n", "c\n"),
        ("if x: b; c\n", "if x: c\n"),
        ("if x: a; b\n", "if x: a\n"),
        ("if x:\n    b\n", None),
        ("if x: b\n", None),
        ("a; b;\nc\n", "a;\nc\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nc\r\n"),
    ],
)
def test_delete(text: str, left: str | None) -> None:
    page = Page(text, "page.py")
    assert result(text, page, page.delete(names(page)["b"])) == left


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("b\na\n", "a\nb\n"),
        ("b  # why\na  # not\n", "a  # not\nb  # why\n"),
        ("b\nif x:\n    a\n", "if x:\n    a\n    b\n"),
        ("b\nif x: a\n", "if x: a; b\n"),
        ("b; a\n", "a; b\n"),
        ("b\na", "a\nb"),
        ("if x:\n\tb\n\tc\na\n", "if x:\n\tc\na\nb\n"),
    ],
)
def test_move(text: str, moved: str) -> None:
    page = Page(text, "page.py")
    found = names(page)
    assert result(text, page, *page.move(found["b"], after=found["a"])) == moved


def test_lines_move_with_their_depth_and_strings_do_not() -> None:
    text = "b = f(\n    1,\n)\nif x:\n    a\n"
    page = Page(text, "page.py")
    assert result(text, page, *page.move(page.tree.body[0], before=names(page)["a"])) == (
        "if x:\n    b = f(\n        1,\n    )\n    a\n"
    )
    text = "b('''\n''')\nif x:\n    a\n"
    page = Page(text, "page.py")
    assert result(text, page, *page.move(page.tree.body[0], before=names(page)["a"])) is None


def test_nothing_moves_over_what_it_needs() -> None:
    for between in ("b = 2", "c"):
        text = f"c = f(b)\n{between}\na\n"
        page = Page(text, "page.py")
        assert result(text, page, *page.move(page.tree.body[0], after=names(page)["a"])) is None
