"""Correct programs, and ways to write and to watch them that change nothing about that.

A program is correct if its case file or its rule's page marks no line of it. Here it gets more data than it has there,
because a sample of two steps is all of a short run; then it is written with several statements on a line, and watched
from the beginning to the end, in part, or from somewhere in the middle.
"""

import ast
import contextlib
import linecache
import re
import signal
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from rules.programs import CASES, Program, programs
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Sees
from zerograd.run.audit import Audit, Mode, audit

_MARKED = re.compile(r"# (?:error|note|source|run): \[|# zerograd:|noqa")
_LONGER = 5
_SECONDS = 600  # for one program: one that waits for somebody, or never ends, is left out


class Watch(NamedTuple):
    """`begin` and `end`: the audit is there between these statements of the program, counted as they run in loops."""

    mode: Mode = "lean"
    sample: int = 1
    begin: int = 0
    end: int | None = None

    def __str__(self) -> str:
        parts = [self.mode, f"sample {self.sample}" * (self.sample > 1), f"from {self.begin}" * (self.begin > 0)]
        return ", ".join(filter(None, [*parts, f"to {self.end}" * (self.end is not None)]))


def correct_programs() -> list[Program]:
    files = sorted(path.name for path in CASES.glob("*.md"))
    known = [Program(f"{file.removesuffix('.md')}: {one.name}", one.text) for file in files for one in programs(file)]
    known += [
        Program(f"{rule.code} good", rule.good) for rule in REGISTRY.values() if rule.sees & (Sees.RUN | Sees.FULL)
    ]
    return [one for one in known if not _MARKED.search(one.text)]


# Ways to write a program


def longer(text: str) -> str:
    """With more batches in the loader of its scenery."""
    line = re.compile(r"^((?:loader|batches|data)\b.* for _ in range\()(\d+)(\)\])", re.M)
    return line.sub(lambda found: f"{found[1]}{_LONGER * int(found[2])}{found[3]}", text)


def compact(text: str) -> str:
    """With as many statements on each line as Python takes."""
    return "\n".join(_compact(ast.parse(text).body, "")) + "\n"


def _compact(body: list[ast.stmt], indent: str) -> Iterator[str]:
    simple: list[str] = []
    for one in body:
        if not hasattr(one, "body") and not isinstance(one, ast.Match):
            simple.append(ast.unparse(one))
            continue
        yield from _line(simple, indent)
        simple = []
        yield from _block(one, indent)
    yield from _line(simple, indent)


def _line(statements: list[str], indent: str) -> list[str]:
    if any("\n" in one for one in statements):  # a text of several lines
        return [f"{indent}{one}" for one in statements]
    return [indent + "; ".join(statements)] if statements else []


def _block(one: ast.stmt, indent: str) -> Iterator[str]:
    """A loop, a condition, a function ...: its body stands behind the colon if it can."""
    if not isinstance(one, ast.For | ast.While | ast.If | ast.With | ast.FunctionDef) or _has_more(one):
        yield from (f"{indent}{line}" for line in ast.unparse(one).splitlines())
        return
    head = ast.unparse(_with_body(one, [ast.Pass()])).splitlines()
    inner = list(_compact(one.body, ""))
    if len(inner) == 1 and not isinstance(one.body[-1], ast.For | ast.While | ast.If | ast.With | ast.FunctionDef):
        yield from (f"{indent}{line}" for line in [*head[:-2], f"{head[-2]} {inner[0]}"])
    else:
        yield from (f"{indent}{line}" for line in head[:-1])
        yield from _compact(one.body, indent + "    ")


def _has_more(one: ast.stmt) -> bool:
    return bool(getattr(one, "orelse", None))


def _with_body(one: Any, body: list[ast.stmt]) -> ast.stmt:
    fields = dict(ast.iter_fields(one)) | {"body": body}
    return ast.copy_location(type(one)(**fields), one)


class _Ticks(ast.NodeTransformer):
    """Says `_tick()` before each statement of each loop."""

    def _loop(self, node: Any) -> Any:
        self.generic_visit(node)
        tick = ast.Expr(ast.Call(ast.Name("_tick", ast.Load()), [], []))
        node.body = [line for one in node.body for line in (ast.copy_location(tick, one), one)]
        return node

    visit_For = visit_While = _loop


def ticking(text: str) -> str:
    return ast.unparse(ast.fix_missing_locations(_Ticks().visit(ast.parse(text)))) + "\n"


# Ways to watch one


class Unfit(Exception):
    """The program does not run as it stands."""


def accusations(program: Program, watch: Watch) -> list[Finding]:
    """What would fail a check of a program that is correct."""
    lines = program.text.splitlines(keepends=True)
    linecache.cache["program.py"] = (len(program.text), None, lines, "program.py")
    watcher = audit(on_finding="collect", mode=watch.mode, sample=watch.sample)
    ticks = _Counter(watcher, watch)
    try:
        run(program.text, ticks)
    finally:
        watcher.stop()
    return [finding for finding in watcher.findings if finding.fails]


class _Counter:
    def __init__(self, watcher: Audit, watch: Watch) -> None:
        self._watcher, self._watch, self.passed = watcher, watch, 0
        if not watch.begin:
            watcher.start()

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self._watch.begin:
            self._watcher.start()
        if self.passed == self._watch.end:
            self._watcher.stop()


def run(text: str, tick: Callable[[], None]) -> None:
    """In this process, as `__main__`. Whatever it raises, it does not run as it stands."""
    torch.manual_seed(0)
    module = types.ModuleType("__main__")
    module.__dict__.update(_tick=tick)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(None), _limited():
            warnings.simplefilter("ignore")
            exec(compile(text, "program.py", "exec"), module.__dict__)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Unfit(f"{type(error).__name__}: {error}") from None


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError("it takes too long")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
