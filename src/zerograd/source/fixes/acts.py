"""What the makers of fixes ask of a page: its steps, deposits and clears, and whose they are, as they are written."""

import ast
import re
from typing import NamedTuple

from zerograd.core.events import Site
from zerograd.source.fixes.page import Page
from zerograd.source.fixes.statements import LOOPS, calls
from zerograd.source.text.nodes import place
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

_NOT_OPTIMIZERS = pattern(r"sched|lr_|_lr$|^lr|env|prof|bar\b|timer|ema|meter|sampler")
# With these around, zero_grad() is not torch's, or is not the loop's to call: it does nothing off a window's end
# (Accelerate), opens a quorum (torchft), must keep addresses (CUDA graphs), or the engine does it itself.
_WRAPPERS = pattern(
    r"^\s*(?:import|from)\s+(?:accelerate|deepspeed|torchft|apex|horovod|bagua|colossalai|fairscale|ignite"
    r"|(?:pytorch_)?lightning)\b"
    r"|\b(?:[Aa]ccelerator|[Ff]abric|deepspeed|hvd|manual_backward|CUDAGraph|make_graphed_callables|fused_backward"
    r"|amp\.(?:initialize|scale_loss)|DistributedOptimizer)\b",
    re.MULTILINE,
)


class Step(NamedTuple):
    """`optimizer.step()`, or `scaler.step(optimizer)`."""

    call: ast.Call
    statement: ast.stmt
    optimizer: ast.expr
    scaler: ast.expr | None


def is_wrapped(text: str) -> bool:
    """Whether an optimizer here may be one whose methods mean something else than torch's."""
    return _WRAPPERS.search(text) is not None


def step_of(page: Page, call: ast.Call) -> Step | None:
    match call:
        case ast.Call(func=ast.Attribute(value=scaler, attr="step"), args=[optimizer, *_]) if _is_scaler(scaler):
            return Step(call, page.statement(call), optimizer, scaler)
        case ast.Call(func=ast.Attribute(value=optimizer, attr="step")):
            name = (path_of(optimizer) or "").rpartition(".")[2].lower()
            if name and not _NOT_OPTIMIZERS.search(name):
                return Step(call, page.statement(call), optimizer, None)
    return None


def step_at(page: Page, site: Site) -> Step | None:
    """The step that a finding stands at, if it is a statement of its own."""
    call = page.at(site, ast.Call)
    step = step_of(page, call) if call is not None else None
    return step if step is not None and isinstance(step.statement, ast.Expr | ast.Assign) else None


def steps(page: Page, within: ast.AST) -> list[Step]:
    found = (step_of(page, call) for call in page.inside(within, ast.Call))
    return [step for step in found if step is not None]


def deposits(page: Page, within: ast.AST) -> list[ast.Call]:
    return calls(page.inside(within, ast.Call), "backward", "manual_backward")


def clears(page: Page, within: ast.AST, of: str = "") -> list[ast.Call]:
    """The calls of zero_grad(), of one object or of any, that are statements."""
    found = calls(page.inside(within, ast.Call), "zero_grad")
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


def _is_scaler(node: ast.expr) -> bool:
    return "scaler" in (path_of(node) or "").rpartition(".")[2].lower()
