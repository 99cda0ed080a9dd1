"""What the makers of fixes ask of a page: its steps, deposits and clears, where the abstract run has seen them."""

import ast
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.source.effects.frameworks import MANAGING
from zerograd.source.effects.lookup import optimizer_method
from zerograd.source.effects.rows import Act
from zerograd.source.fixes.page import Page
from zerograd.source.fixes.statements import LOOPS, calls
from zerograd.source.text.nodes import place


class Step(NamedTuple):
    """`optimizer.step()`, or `scaler.step(optimizer)`."""

    call: ast.Call
    statement: ast.stmt
    optimizer: ast.expr
    scaler: ast.expr | None


def is_managed(page: Page) -> bool:
    """Whether zero_grad() may not be torch's here, or not the loop's to call: it does nothing off a window's end
    (Accelerate), opens a quorum (torchft), must keep addresses (CUDA graphs), or the engine does it itself."""
    imported = {alias.name for node in page.inside(page.tree, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in page.inside(page.tree, ast.ImportFrom)}
    return page.acts.is_managed or any(name.partition(".")[0] in MANAGING for name in imported)


def step_of(page: Page, call: ast.Call) -> Step | None:
    func = call.func
    if not page.is_at(call, page.acts.steps) or not isinstance(func, ast.Attribute):
        return None
    row = optimizer_method(func.attr)
    if row is None or row.act is not Act.STEPS:
        return None  # something that steps for somebody else
    if page.is_at(call, page.acts.scaled):
        return Step(call, page.statement(call), call.args[0], func.value) if call.args else None
    return Step(call, page.statement(call), func.value, None)


def step_at(page: Page, site: Site) -> Step | None:
    """The step that a finding stands at, if it is a statement of its own."""
    call = page.at(site, ast.Call)
    step = step_of(page, call) if call is not None else None
    return step if step is not None and isinstance(step.statement, ast.Expr | ast.Assign) else None


def steps(page: Page, within: ast.AST) -> list[Step]:
    found = (step_of(page, call) for call in page.inside(within, ast.Call))
    return [step for step in found if step is not None]


def deposits(page: Page, within: ast.AST) -> list[ast.Call]:
    return [call for call in page.inside(within, ast.Call) if page.is_at(call, page.acts.deposits)]


def loss_of(page: Page, call: ast.Call) -> ast.expr | None:
    """The loss of `loss.backward()`, `scaler.scale(loss).backward()`, `accelerator.backward(loss)`."""
    if not isinstance(call.func, ast.Attribute):
        return None
    if page.acts.is_managed and (call.args or call.keywords):
        return call.args[0] if call.args else call.keywords[0].value
    match call.func.value:
        case ast.Call(func=ast.Attribute(attr="scale"), args=[loss, *_]):
            return loss
    return call.func.value


def clears(page: Page, within: ast.AST, of: str = "") -> list[ast.Call]:
    """The calls of zero_grad(), of one object or of any, that are statements."""
    found = [call for call in calls(page.inside(within, ast.Call), "zero_grad") if page.is_at(call, page.acts.clears)]
    return [call for call in found if page.is_statement(call) and (not of or receiver(page, call) == of)]


def receiver(page: Page, call: ast.Call) -> str:
    return page.source(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def training_loop(page: Page, step: Step) -> ast.For | ast.AsyncFor | ast.While | None:
    """The innermost loop around a step that deposits."""
    return next((loop for loop in page.loops(step.call) if deposits(page, loop)), None)


def is_unconditional(page: Page, statement: ast.stmt, loop: ast.AST) -> bool:
    """Whether a statement runs in every iteration: nothing but `with` stands between it and the loop."""
    for outer in page.around(statement):
        if outer is loop:
            return isinstance(loop, LOOPS) and page.in_block(loop.body, statement) is not None
        if not isinstance(outer, ast.With | ast.AsyncWith):
            return False
    return False


def own_deposit(page: Page, step: Step, behind: ast.AST | None = None) -> ast.stmt | None:
    """Of the statements before a step, behind the last one that takes another: the first that deposits."""
    block = page.block(step.statement)
    before = block[: block.index(step.statement)]
    others = [number for number, statement in enumerate(before) if steps(page, statement)]
    first = others[-1] + 1 if others else 0
    later = [one for one in before[first:] if behind is None or place(one)[0] > place(behind)[1]]
    return next((statement for statement in later if deposits(page, statement)), None)


def is_known_at(page: Page, expression: ast.expr, at: ast.stmt, until: ast.AST) -> bool:
    """Whether what an expression names is the same at an earlier statement: nothing on the way makes it anew."""
    names = {part.id for part in ast.walk(expression) if isinstance(part, ast.Name)}
    low, high = sorted((place(at)[0], place(until)[0]))
    return not any(
        node.id in names and isinstance(node.ctx, ast.Store) and low <= place(node)[0] < high
        for node in page.inside(page.function(until), ast.Name)
    )
