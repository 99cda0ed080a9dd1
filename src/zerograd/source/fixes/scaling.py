"""Gradient scalers: ZG201, ZG202, ZG203, ZG204."""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding, Fix
from zerograd.source.fixes.acts import Step, step_at, steps
from zerograd.source.fixes.page import Page
from zerograd.source.fixes.statements import calls
from zerograd.source.text.nodes import place


def unscale_first(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG201: unscale right before the clip, for the step that follows."""
    clip = page.at(finding.site, ast.Call)
    if clip is None or (isinstance(clip.func, ast.Attribute) and clip.func.attr == "register_hook"):
        return  # what a hook clips, nobody can unscale before
    later = [one for one in steps(page, page.function(clip)) if place(one.call) > place(clip)]
    scaled = [one for one in later if one.scaler is not None]
    if len({page.source(one.optimizer) for one in scaled}) != 1 or scaled[0].scaler is None:
        return
    optimizer, scaler = page.source(scaled[0].optimizer), page.source(scaled[0].scaler)
    statement = page.statement(clip)
    for call in calls(page.inside(page.function(clip), ast.Call), "unscale_"):
        if page.is_statement(call) and place(call) > place(clip):
            moved = page.move(page.statement(call), before=statement)
            yield from page.fix("move unscale_() to before the clip", *moved)
    unscale = f"{scaler}.unscale_({optimizer})"
    yield from page.fix(f"call {unscale} before the clip", page.before(statement, unscale))
    step = scaled[0].statement
    if step not in page.block(statement):
        moved = page.move(page.with_its_test(statement), before=step)
        yield from page.fix("unscale and clip right before step()", page.before(step, unscale), *moved)


def let_the_scaler_step(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG202: scaler.step(optimizer), and an update where there is none."""
    step = step_at(page, finding.site)
    if step is None or step.call.args or step.call.keywords:
        return
    function = page.function(step.call)
    scalers = {
        page.source(call.func.value)
        for call in calls(page.inside(function, ast.Call), "scale")
        if isinstance(call.func, ast.Attribute)
    }
    if len(scalers) != 1 or not page.is_statement(step.call):
        return
    scaler = scalers.pop()
    stepped = page.replace(step.call, f"{scaler}.step({page.source(step.optimizer)})")
    updates = [call for call in calls(page.inside(function, ast.Call), "update") if _is_on(page, call, scaler)]
    update = [] if updates else [page.after(step.statement, f"{scaler}.update()")]
    yield from page.fix(f"call {scaler}.step({page.source(step.optimizer)}) instead", stepped, *update)


def update(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG203: update once, behind the last step of the scaler."""
    step = step_at(page, finding.site)
    if step is not None and step.scaler is not None:
        block = page.block(step.statement)
        scaler = page.source(step.scaler)
        last = [one for one in block if any(_is_of(page, other, scaler) for other in steps(page, one))][-1]
        yield from page.fix(f"call {scaler}.update() after the step", page.after(last, f"{scaler}.update()"))
        return
    call = page.at(finding.site, ast.Call)
    if call is None or not page.is_statement(call) or not isinstance(call.func, ast.Attribute):
        return
    scaler = page.source(call.func.value)
    for other in steps(page, page.function(call)):
        if _is_of(page, other, scaler):
            moved = page.move(page.statement(call), after=other.statement)
            yield from page.fix("move update() to right after the step", *moved)


def unscale_once(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG204: unscale right before the step, and clip behind it."""
    call = page.at(finding.site, ast.Call)
    if call is None or not page.is_statement(call) or not call.args:
        return
    statement = page.statement(call)
    clips = calls(page.inside(page.function(call), ast.Call), "clip_grad_norm_", "clip_grad_value_")
    block = page.block(statement)
    behind = [page.statement(clip) for clip in clips if place(clip) > place(call) and page.statement(clip) in block]
    earlier = [other for other in calls(page.inside(page.function(call), ast.Call), "unscale_") if other is not call]
    if any(page.statement(other) in block and place(other) < place(call) for other in earlier):
        yield from page.fix("remove this unscale_()", page.delete(statement))
    for step in steps(page, page.function(call)):
        if page.source(step.optimizer) == page.source(call.args[0]):
            unscaled = page.move(statement, before=step.statement)
            yield from page.fix("unscale once, right before step()", *unscaled)
            clipped = [change for clip in behind for change in page.move(clip, before=step.statement)]
            if clipped:
                yield from page.fix("unscale and clip right before step()", *unscaled, *clipped)


def _is_of(page: Page, step: Step, scaler: str) -> bool:
    return step.scaler is not None and page.source(step.scaler) == scaler


def _is_on(page: Page, call: ast.Call, scaler: str) -> bool:
    return isinstance(call.func, ast.Attribute) and page.source(call.func.value) == scaler
