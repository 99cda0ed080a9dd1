"""Steps, clips and schedules in the wrong order, or once too often: ZG003, ZG004, ZG010, ZG301, ZG302, ZG306."""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding, Fix
from zerograd.source.fixes.acts import deposits, step_at, steps
from zerograd.source.fixes.page import Page
from zerograd.source.text.nodes import holds, place
from zerograd.source.text.paths import path_of


def call_backward(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG003: call the backward that is only named; or that of the one loss there is."""
    step = step_at(page, finding.site)
    if step is None:
        return
    function = page.function(step.call)
    for statement in page.inside(function, ast.Expr):
        match statement.value:
            case ast.Attribute(attr="backward"):
                yield from page.fix(f"call {page.source(statement)}()", page.behind(statement, "()"))
    block = page.block(step.statement)
    made = [one for one in block[: block.index(step.statement)] if isinstance(one, ast.Assign)]
    for node in reversed(made) if not deposits(page, function) else ():
        if len(node.targets) == 1 and path_of(node.targets[0]) is not None:
            loss = page.source(node.targets[0])
            yield from page.fix(f"call {loss}.backward()", page.before(step.statement, f"{loss}.backward()"))


def step_once(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG004: take the second step away, where no other loss is made between the two."""
    step = step_at(page, finding.site)
    if step is None or not page.is_statement(step.call):
        return
    block = page.block(step.statement)
    number = block.index(step.statement)
    name = page.source(step.optimizer)
    same = [one for one in steps(page, page.function(step.call)) if page.source(one.optimizer) == name]
    first = next((one for one in reversed(same) if one.statement in block[:number]), None)
    if first is None:
        return
    between = block[block.index(first.statement) + 1 : number]
    if not any(isinstance(one, ast.Assign) for one in between):  # else it may be a backward() that is missing
        yield from page.fix(f"remove this {page.source(step.call)}", page.delete(step.statement))


def make_the_optimizer_last(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG010: make the optimizer behind the change of the model."""
    change = page.at(finding.site, ast.Assign)
    call = page.at(finding.related[0].site, ast.Call) if finding.related else None
    made = page.statement(call) if call is not None else None
    if change is None or not isinstance(made, ast.Assign):
        return
    block = page.block(change)
    name = page.source(made.targets[0])
    same = [one for one in block[: block.index(change)] if isinstance(one, ast.Assign)]
    same = [one for one in same if page.source(one.targets[0]) == name]
    for last in same[-1:]:
        yield from page.fix("create the optimizer after this change to the model", *page.move(last, after=change))


def schedule_behind(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG301: move the schedule behind the step, or to the end of the loop that it moves in."""
    call = page.at(finding.site, ast.Call)
    if call is None or not page.is_statement(call):
        return
    statement = page.statement(call)
    block = page.block(statement)
    later = block[block.index(statement) + 1 :]
    places = [step for other in finding.related if (step := page.at(other.site, ast.Call)) is not None]
    for one in later:
        if any(holds(one, step) for step in places):
            yield from page.fix("move it to after the optimizer's step()", *page.move(statement, after=one))
    if later and page.loops(call):
        yield from page.fix("move it to the end of the loop", *page.move(statement, after=later[-1]))


def clip_in_place(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG302: clip right before the step, or right behind the backward where the step is somewhere else."""
    clip = page.at(finding.site, ast.Call)
    if clip is None or not isinstance(page.statement(clip), ast.Expr | ast.Assign):
        return
    statement = page.with_its_test(page.statement(clip))
    loop = next(iter(page.loops(clip)), None)
    inside = steps(page, loop if loop is not None else page.function(clip))
    inside.sort(key=lambda step: abs(place(step.call)[0][0] - place(clip)[0][0]))
    for step in inside:
        if step.statement is not statement:
            moved = page.move(statement, before=step.statement)
            yield from page.fix("clip right before step()", *moved)
            if step.scaler is not None:
                unscale = f"{page.source(step.scaler)}.unscale_({page.source(step.optimizer)})"
                unscaled = page.before(step.statement, unscale)
                yield from page.fix("unscale and clip right before step()", unscaled, *moved)
    block = page.block(statement)
    for later in block[block.index(statement) + 1 :] if not inside else ():
        if deposits(page, later):
            yield from page.fix("clip right after backward()", *page.move(statement, after=later))


def keep_a_list(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG306: make a list of the generator."""
    call = page.at(finding.site, ast.Call)
    name = path_of(call.args[0]) if call is not None and call.args else None
    for node in reversed(page.inside(page.function(call), ast.Assign) if call is not None else []):
        if len(node.targets) != 1 or path_of(node.targets[0]) != name:
            continue
        if path_of(node.value) is not None:  # one more name of it
            name = path_of(node.value)
            continue
        inner = page.source(node.value)
        plain = inner[1:-1] if isinstance(node.value, ast.GeneratorExp) else inner
        yield from page.fix(f"make it a list: list({plain})", page.replace(node.value, f"list({plain})"))
