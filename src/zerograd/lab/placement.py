"""Where loops clear: at the top, right before backward, or after the step; counted by an abstract run."""

import ast
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from zerograd.errors import SourceError, UsageError, missing
from zerograd.source.acts import acts
from zerograd.source.files.discover import python_files, read_text
from zerograd.source.relevance import may_train
from zerograd.source.text.parsing import parse

_below: list[str] = []  # folders that the user has asked to count


class Place(Enum):
    TOP = "at the top"  # before the backward, with the forward pass between them
    BEFORE = "just before backward"  # nothing between them
    AFTER = "after the step"
    ELSEWHERE = "elsewhere"  # between backward and step, or with no step in sight


def count_below(path: str) -> None:
    """Count these files as well, when C22 is measured."""
    if not Path(path).exists():
        raise missing("file or folder", path, slug="unknown-path")
    _below.append(path)


def asked_for() -> tuple[str, ...]:
    return tuple(_below)


def count_files(path: str) -> Counter[Place]:
    """The places of every loop in the Python files at or below a path; files that cannot be read count nothing."""
    counts: Counter[Place] = Counter()
    for file in python_files([path]):
        try:
            counts.update(places(read_text(file), file))
        except (SourceError, UsageError):
            continue
    return counts


def places(text: str, path: str = "<text>") -> Iterator[Place]:
    """One place for every function, or module, that goes backward and clears: that of its first clear."""
    if not may_train(text):
        return
    tree, found = parse(text, path), acts(text, path)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    lines: dict[ast.AST, tuple[list[int], list[int], list[int]]] = {}
    for kind, sites in enumerate((found.clears, found.deposits, found.steps)):
        for site in sites:
            around = [one for one in functions if one.lineno <= site.line <= (one.end_lineno or one.lineno)]
            inner = max(around, key=lambda one: one.lineno, default=tree)
            lines.setdefault(inner, ([], [], []))[kind].append(site.line)
    for function, (clears, deposits, steps) in lines.items():
        place = _place(function, clears, deposits, steps)
        if place is not None:
            yield place


def _place(function: ast.AST, clears: list[int], deposits: list[int], steps: list[int]) -> Place | None:
    if not clears or not deposits:
        return None
    clear = clears[0]
    if clear < deposits[0]:
        return Place.BEFORE if _next_to(function, clear, deposits[0]) else Place.TOP
    return Place.AFTER if steps and clear > steps[0] else Place.ELSEWHERE


def _next_to(function: ast.AST, first: int, second: int) -> bool:
    """Whether no statement stands between the statements of two lines."""
    starts = [node.lineno for node in ast.walk(function) if isinstance(node, ast.stmt)]
    return not any(first < line < second for line in starts)
