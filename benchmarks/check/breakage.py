"""Breaks a correct training loop in the ways people do.

Only the plain shape is broken, because only there is it sure that the mutant is wrong: one clear, one backward and one
step, statements of one block inside a loop, each on a line of its own.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard


class Mutant(NamedTuple):
    kind: str  # a key of answers.MUTANTS
    function: str
    span: range  # the lines of the function that was broken, with room for a line that was added
    text: str


class _Loop(NamedTuple):
    """The statements that matter in one function of the plain shape."""

    function: ast.FunctionDef | ast.AsyncFunctionDef
    head: ast.For | ast.While
    clear: ast.Expr
    backward: ast.Expr
    step: ast.Expr
    unscales: list[ast.Expr]
    clips: list[ast.Expr]
    block: list[ast.stmt]


def mutants(text: str) -> Iterator[Mutant]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (loop := _plain(node)) is not None:
            span = range(node.lineno, (node.end_lineno or node.lineno) + 4)
            yield from (Mutant(kind, node.name, span, broken) for kind, broken in _broken(loop, text.split("\n")))


def _plain(function: ast.FunctionDef | ast.AsyncFunctionDef) -> _Loop | None:
    calls = [(statement, block) for block in _blocks(function) for statement in block if _is_call(statement)]
    by_name: dict[str, list[ast.Expr]] = {}
    for statement, _ in calls:
        by_name.setdefault(_name(statement), []).append(statement)
    steps = [statement for statement in by_name.get("step", []) if _steps_an_optimizer(statement)]
    clears, backwards = by_name.get("zero_grad", []), by_name.get("backward", [])
    if not len(clears) == len(backwards) == len(steps) == 1:
        return None
    (clear,), (backward,), (step,) = clears, backwards, steps
    block = next(block for statement, block in calls if statement is clear)
    heads = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While)) and _holds(node, backward)]
    if not {id(backward), id(step)} <= set(map(id, block)) or not heads or _is_gated(function, backward):
        return None
    clips = by_name.get("clip_grad_norm_", []) + by_name.get("clip_grad_value_", [])
    innermost = max(heads, key=lambda head: head.lineno)
    return _Loop(function, innermost, clear, backward, step, by_name.get("unscale_", []), clips, block)


def _broken(loop: _Loop, lines: list[str]) -> Iterator[tuple[str, str]]:
    clear, backward, step, head = loop.clear, loop.backward, loop.step, loop.head
    clearing, stepping, heading = (_line(lines, statement) for statement in (clear, step, head))
    yield "clear deleted", _edit(lines, {clear: "pass"})
    yield "backward deleted", _edit(lines, {backward: "pass"})
    if "#" not in clearing:  # a comment would swallow what is put behind it
        moved = f"{clearing}\n{' ' * head.col_offset}{heading}"
        yield "clear before the loop", _edit(lines, {clear: "pass", head: moved})
        if clear.lineno < backward.lineno < step.lineno:
            yield "clear before the step", _edit(lines, {clear: "pass", step: f"{clearing}; {stepping}"})
    if "#" not in stepping:
        yield "step doubled", _edit(lines, {step: f"{stepping}; {stepping}"})
    if len(loop.unscales) == len(loop.clips) == 1:
        yield "unscale deleted", _edit(lines, {loop.unscales[0]: "pass"})
    if len(loop.clips) == 1 and not loop.unscales and "#" not in stepping:
        (clip,) = loop.clips
        if clip.lineno > backward.lineno and any(statement is clip for statement in loop.block):
            yield "clip after the step", _edit(lines, {clip: "pass", step: f"{stepping}; {_line(lines, clip)}"})


def _edit(lines: list[str], changes: dict[ast.stmt, str]) -> str:
    edited = list(lines)
    for statement, change in changes.items():
        edited[statement.lineno - 1] = " " * statement.col_offset + change
    return "\n".join(edited)


def _line(lines: list[str], statement: ast.stmt) -> str:
    return lines[statement.lineno - 1].strip()


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block


def _is_call(statement: ast.stmt) -> TypeGuard[ast.Expr]:
    on_one_line = statement.lineno == statement.end_lineno
    return on_one_line and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _name(statement: ast.Expr) -> str:
    match statement.value:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
    return ""


def _steps_an_optimizer(statement: ast.Expr) -> bool:
    """Rather than a schedule or an environment: judged by the receiver's name."""
    match statement.value:
        case ast.Call(func=ast.Attribute(value=receiver), args=arguments):
            name = ast.unparse(receiver)
            return "opt" in name.split(".")[-1].lower() or bool(arguments and "scaler" in name)
    return False


def _is_gated(function: ast.AST, backward: ast.Expr) -> bool:
    """Under `with accelerator.accumulate(...)` clears and steps are not what they seem."""
    return any(
        isinstance(node, ast.With)
        and "accumulate" in ast.unparse(node.items[0].context_expr)
        and _holds(node, backward)
        for node in ast.walk(function)
    )


def _holds(node: ast.stmt, statement: ast.stmt) -> bool:
    return node.lineno < statement.lineno <= (node.end_lineno or node.lineno)
