"""Clears that are missing, out of place, or there twice: ZG001, ZG002, ZG005 to ZG007, ZG009, ZG305, ZG401, ZG403."""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding, Fix, Safety
from zerograd.source.fixes.acts import (
    Step,
    clears,
    deposits,
    is_known_at,
    is_unconditional,
    own_deposit,
    receiver,
    step_at,
    steps,
    training_loop,
)
from zerograd.source.fixes.page import Page
from zerograd.source.fixes.statements import calls
from zerograd.source.text.nodes import place
from zerograd.source.text.paths import path_of


def stale(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG001: call what is only named; else clear at the top of the loop, before the backward, or behind the step."""
    step = step_at(page, finding.site)
    if step is None or path_of(step.optimizer) is None:
        return
    yield from _call_what_is_named(page, step)
    yield from _clear_for(page, step)


def partial(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG006: clear beside the clear that is there."""
    step = step_at(page, finding.site)
    if step is None or path_of(step.optimizer) is None:
        return
    yield from _call_what_is_named(page, step)
    name = page.source(step.optimizer)
    for call in clears(page, page.function(step.call)):
        between = [other for other in steps(page, page.function(step.call)) if _between(call, other.call, step.call)]
        same = page.source(other.optimizer) if (other := next(iter(between), None)) else receiver(page, call)
        if same == receiver(page, call) and is_known_at(page, step.optimizer, page.statement(call), step.call):
            arguments = page.text[page.end(call.func) : page.end(call)]
            clear = page.after(page.statement(call), f"{name}.zero_grad{arguments}")
            yield from page.fix(f"call {name}.zero_grad() next to {receiver(page, call)}.zero_grad()", clear)
    yield from _clear_for(page, step)


def _between(first: ast.AST, node: ast.AST, last: ast.AST) -> bool:
    return place(first) < place(node) < place(last)


def _call_what_is_named(page: Page, step: Step) -> Iterator[Fix]:
    """`optimizer.zero_grad` on a line of its own."""
    for statement in page.inside(page.function(step.call), ast.Expr):
        match statement.value:
            case ast.Attribute(value=value, attr="zero_grad") if page.source(value) == page.source(step.optimizer):
                yield from page.fix(f"call {page.source(statement)}()", page.behind(statement, "()"))


def _clear_for(page: Page, step: Step) -> Iterator[Fix]:
    name = page.source(step.optimizer)
    clear = f"{name}.zero_grad()"
    loop = training_loop(page, step)
    alone = loop is not None and len({page.source(one.optimizer) for one in steps(page, loop)}) == 1
    if loop is not None and is_unconditional(page, step.statement, loop):
        top = loop.body[0]
        if alone and is_known_at(page, step.optimizer, top, step.call):
            for call in _just_before(page, loop, name):
                moved = page.move(page.statement(call), before=top)
                yield from page.fix(f"move {clear} to the top of the loop", *moved)
            yield from page.fix(f"call {clear} at the top of the loop", page.before(top, clear))
    own = own_deposit(page, step)
    if own is not None and is_known_at(page, step.optimizer, own, step.call):
        yield from page.fix(f"call {clear} right before backward()", page.before(own, clear))
    if not _is_read_behind(page, step, loop):
        yield from page.fix(f"call {clear} after the step", page.after(_end_of_step(page, step), clear))


def _just_before(page: Page, loop: ast.stmt, name: str) -> list[ast.Call]:
    """Clears among the statements before a loop that serve nothing but the loop."""
    block = page.block(loop)
    before = block[: block.index(loop)]
    served = [number for number, one in enumerate(before) if deposits(page, one) or steps(page, one)]
    candidates = before[served[-1] + 1 if served else 0 :]
    return [call for one in candidates for call in clears(page, one, name) if page.statement(call) is one]


def _end_of_step(page: Page, step: Step) -> ast.stmt:
    """The step's statement, or the scaler's update behind it."""
    block = page.block(step.statement)
    number = block.index(step.statement) + 1
    following = block[number] if number < len(block) else None
    if step.scaler is not None and following is not None:
        name = f"{page.source(step.scaler)}.update"
        if any(page.source(call.func) == name for call in page.inside(following, ast.Call)):
            return following
    return step.statement


def _is_read_behind(page: Page, step: Step, loop: ast.AST | None) -> bool:
    """Whether someone looks at the gradients when the step has used them."""
    within = loop if loop is not None else page.function(step.call)
    called = {id(call.func) for call in page.inside(within, ast.Call)}  # torch.autograd.grad()
    read = [one for one in page.inside(within, ast.Attribute) if one.attr == "grad" and id(one) not in called]
    return any(place(one) > place(step.call) for one in read)


def discarded(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG002: move the clear before the backward whose gradients it erases, or behind the step that wants them."""
    clear = page.at(finding.site, ast.Call)
    if clear is not None and clear in calls([clear], "zero_grad") and page.is_statement(clear):
        yield from _out_of_the_window(page, clear, finding)
        return
    step = step_at(page, finding.site)
    places = [call for other in finding.related if (call := page.at(other.site, ast.Call)) is not None]
    if step is None:
        return
    lost = [call for call in calls(places, "zero_grad") if place(call) < place(step.call) and page.is_statement(call)]
    for call in lost:
        statement = page.statement(call)
        block = page.block(statement)
        erased = [page.in_block(block, one) for one in deposits(page, page.function(call)) if place(one) < place(call)]
        own = [one for one in erased if one is not None and not _steps_between(page, one, statement)]
        if own:
            yield from page.fix(f"move {page.source(call)} to before backward()", *page.move(statement, before=own[0]))
        if step.statement in block:
            yield from page.fix(
                f"move {page.source(call)} to after the step", *page.move(statement, after=_end_of_step(page, step))
            )


def _steps_between(page: Page, first: ast.stmt, last: ast.stmt) -> bool:
    return any(_between(first, step.call, last) for step in steps(page, page.function(last)))


def _out_of_the_window(page: Page, clear: ast.Call, finding: Finding) -> Iterator[Fix]:
    """A clear in every micro-batch: once for the group, behind its step or before its loop."""
    statement = page.statement(clear)
    loop = next(iter(page.loops(clear)), None)
    if loop is None:
        return
    name = receiver(page, clear)
    inside = steps(page, loop)
    named = [step for step in inside if page.source(step.optimizer) == name]
    for step in named or (inside if len(inside) == 1 else []):
        yield from page.fix(
            f"move {page.source(clear)} to after the step", *page.move(statement, after=_end_of_step(page, step))
        )
    if not inside:
        yield from page.fix(f"move {page.source(clear)} to before the loop", *page.move(statement, before=loop))


def leaked(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG005: clear right before the backward that is meant for this optimizer, behind the one that is not."""
    step = step_at(page, finding.site)
    if step is None or path_of(step.optimizer) is None:
        return
    spilled = [call for other in finding.related if (call := page.at(other.site, ast.Call)) is not None]
    before = [call for call in spilled if place(call) < place(step.call)]
    own = own_deposit(page, step, behind=before[-1] if before else None)
    if own is None or not is_known_at(page, step.optimizer, own, step.call):
        return
    name = page.source(step.optimizer)
    for call in clears(page, page.function(step.call), name):
        if page.statement(call) in page.block(own) and place(call) < place(own):
            moved = page.move(page.statement(call), before=own)
            yield from page.fix(f"call {name}.zero_grad() right before its own backward()", *moved)
    yield from page.fix(
        f"call {name}.zero_grad() right before its own backward()", page.before(own, f"{name}.zero_grad()")
    )


def inherited(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG007: clear where the iteration is given up."""
    step = step_at(page, finding.site)
    if step is None or path_of(step.optimizer) is None:
        return
    clear = f"{page.source(step.optimizer)}.zero_grad()"
    ways: list[ast.stmt] = []
    for other in finding.related:
        handler = page.at(other.site, ast.ExceptHandler)
        statement = page.at(other.site, ast.Continue) if handler is None else handler.body[0]
        ways += [statement] if statement is not None else []
    if ways:
        yield from page.fix(f"call {clear} before skipping the iteration", *(page.before(way, clear) for way in ways))


def closure(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG009: clear at the top of the closure."""
    step = step_at(page, finding.site)
    if step is None or not step.call.args or path_of(step.optimizer) is None:
        return
    name, function = page.source(step.call.args[0]), page.function(step.call)
    for made in ast.walk(page.tree):
        if isinstance(made, ast.FunctionDef) and made.name == name and page.function(made) is function:
            body = made.body
            doc = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
            first = body[1] if doc and len(body) > 1 else body[0]
            clear = f"{page.source(step.optimizer)}.zero_grad()"
            yield from page.fix(f"call {clear} at the top of the closure", page.before(first, clear))


def aliased(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG305: clear the model whose gradients are handed on as well."""
    alias = page.at(finding.site, ast.Assign)
    loop = next(iter(page.loops(alias)), None) if alias is not None else None
    match alias, loop:
        case ast.Assign(value=ast.Attribute(value=ast.Name(id=name))), ast.For(
            target=ast.Tuple(elts=[ast.Name(id=left), _]), iter=ast.Call(args=[first, second])
        ):
            giver = first if name == left else second
        case _:
            return
    if not isinstance(giver, ast.Call) or not isinstance(giver.func, ast.Attribute):
        return
    model = page.source(giver.func.value)
    for call in clears(page, page.function(loop)):
        clear = page.after(page.statement(call), f"{model}.zero_grad()")
        yield from page.fix(f"also call {model}.zero_grad()", clear)


def zeros(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG401: clear by None."""
    call = page.at(finding.site, ast.Call)
    if call is not None and len(call.args) + len(call.keywords) == 1:
        yield from page.fix(
            "call zero_grad() without set_to_none=False", page.replace(call, f"{page.source(call.func)}()")
        )


def twice(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG403: take the second clear away. Only where the first is always run right before it does nothing change."""
    call = page.at(finding.site, ast.Call)
    first = page.at(finding.related[0].site, ast.Call) if finding.related else None
    if call is None or first is None or not page.is_statement(call):
        return
    statement = page.statement(call)
    alike = page.text[page.end(call.func) : page.end(call)] == page.text[page.end(first.func) : page.end(first)]
    in_order = page.statement(first) in page.block(statement) and place(first) < place(call)
    if alike:
        safety = Safety.SAFE if in_order else Safety.UNSAFE
        yield from page.fix(f"remove this {page.source(call)}", page.delete(statement), safety=safety)
