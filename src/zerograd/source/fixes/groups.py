"""Accumulation that does not add up: ZG101, ZG102, ZG103, ZG105, ZG107, ZG502.

Which number a window has, and which way a counter is off, is not read from the text: what may be meant is proposed, and
the reader that found the fault says which proposal cures it.
"""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding, Fix
from zerograd.source.effects.lookup import row_of
from zerograd.source.effects.rows import Act
from zerograd.source.fixes.acts import loss_of, steps
from zerograd.source.fixes.page import Page
from zerograd.source.text.nodes import place
from zerograd.source.text.paths import path_of

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


def unnormalised(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG101: divide what goes backward; what is logged stays what it is."""
    call = page.at(finding.site, ast.Call)
    loss = loss_of(page, call) if call is not None else None
    if call is None or loss is None:
        return
    for size in _sizes(page, call):
        if isinstance(call.func, ast.Attribute) and loss is call.func.value:
            whole = page.receiver_text(call.func)
            change = page.replace_receiver(call.func, f"({whole} / {size})")
        else:
            low = isinstance(loss, ast.BinOp) and not isinstance(loss.op, ast.Mult | ast.Div)
            plain = isinstance(loss, (ast.BinOp, *_ATOMS)) and not low
            change = page.replace(loss, f"{page.source(loss)} / {size}" if plain else f"({page.source(loss)}) / {size}")
        yield from page.fix(f"divide the loss by {size}", change)


def _sizes(page: Page, call: ast.Call) -> Iterator[str]:
    """What may be the number of micro-batches: what tests of the loops around divide by, or how often they run."""
    seen: set[str] = set()
    for loop in page.loops(call):
        moduli = [
            node.right
            for branch in page.inside(loop, ast.If)
            for node in page.inside(branch.test, ast.BinOp)
            if isinstance(node.op, ast.Mod)
        ]
        match loop:
            case ast.For(iter=ast.Call(func=func, args=[bound])) if _act(func) is Act.RANGE:
                moduli.append(bound)
        for size in moduli:
            text = page.source(size) if isinstance(size, _ATOMS) else f"({page.source(size)})"
            if text not in seen:
                seen.add(text)
                yield text


def _act(func: ast.expr) -> Act | None:
    """What a function of Python's or of a common package does, called by its own name."""
    row = row_of(path_of(func) or "")
    return row.act if row is not None else None


def tail(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG102: step at the last micro-batch as well."""
    test = page.at(finding.site, ast.expr)
    if not isinstance(test, ast.Compare):
        return
    names = {node.id for node in page.inside(test, ast.Name)}
    for loop in page.loops(test):
        match loop:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=name), *_]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[over, *rest], keywords=named),
            ) if name in names:
                start = rest[0] if rest else named[0].value if named else ast.Constant(0)
                batches = _sized(page, over)
                if batches and isinstance(start, ast.Constant) and start.value in (0, 1):
                    last = f"{name} + 1" if start.value == 0 else name
                    ending = page.behind(test, f" or {last} == len({batches})")
                    yield from page.fix("also step at the last micro-batch", ending)


def _sized(page: Page, over: ast.expr) -> str | None:
    """What is iterated, by its name: tqdm(loader) is as long as loader."""
    while isinstance(over, ast.Call) and over.args and _act(over.func) is Act.SAME:
        over = over.args[0]
    return page.source(over) if path_of(over) is not None else None


def uneven(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG103: ask for the last micro-batch of a group."""
    test = page.at(finding.site, ast.expr)
    yield from _shifted(page, test) if test is not None else ()


def unsynchronised(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG502: the guard of no_sync asks what the guard of the step asks."""
    yield from uneven(page, finding)


def _shifted(page: Page, test: ast.expr) -> Iterator[Fix]:
    """The counter of a test, moved so that it asks for the micro-batch before or behind: i becomes (i + 1)."""
    if isinstance(test, ast.Name):  # it was asked before, and kept
        made = [one for one in page.inside(page.function(test), ast.Assign) if place(one) < place(test)]
        kept = [one.value for one in made if any(path_of(target) == test.id for target in one.targets)]
        test = kept[-1] if kept else test
    found = [node for node in page.inside(test, ast.BinOp) if isinstance(node.op, ast.Mod)]
    if len(found) != 1:
        return
    counter, plus = _counter(found[0].left)
    for by in (plus + 1, plus - 1) if counter is not None else ():
        assert counter is not None
        name = page.source(counter)
        text = name if by == 0 else f"({name} {'+' if by > 0 else '-'} {abs(by)})"
        change = page.replace_operand(found[0], text)
        (start, end), (first, last) = page.span(found[0]), page.span(test)
        asked = f"{page.text[first:start]}{text} % {page.source(found[0].right)}{page.text[end:last]}"
        yield from page.fix(f"test {asked} instead", change)


def _counter(node: ast.expr) -> tuple[ast.expr | None, int]:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int() as plus)):
            return left, plus
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int() as minus)):
            return left, -minus
        case ast.Name() | ast.Attribute():
            return node, 0
    return None, 0


def normalised_twice(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG105: leave the division to the framework."""
    call = page.at(finding.site, ast.Call)
    loss = loss_of(page, call) if call is not None else None
    if call is None or loss is None:
        return
    name = page.source(loss)
    for node in page.inside(page.function(call), ast.AugAssign):
        if isinstance(node.op, ast.Div) and page.source(node.target) == name:
            yield from page.fix(f"do not divide the loss by {page.source(node.value)}", page.delete(node))
    made = [
        node.value
        for node in page.inside(page.function(call), ast.Assign)
        if place(node) < place(call) and any(page.source(target) == name for target in node.targets)
    ]
    for value in [loss, *reversed(made)]:
        match value:
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                yield from page.fix(f"do not divide the loss by {page.source(right)}", page.keep_left(value, left))


def rescaled(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG107: rescale once, right before the step."""
    for other in finding.related:
        call = page.at(other.site, ast.Call)
        loop = next((loop for loop in page.loops(call) if steps(page, loop)), None) if call is not None else None
        statement = page.in_block(loop.body, call) if loop is not None and call is not None else None
        if loop is None or statement is None:
            continue
        for step in steps(page, loop):
            moved = page.move(statement, before=step.statement)
            yield from page.fix("rescale once, right before step()", *moved)
