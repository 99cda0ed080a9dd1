"""Accumulation that does not add up: ZG101, ZG102, ZG103, ZG105, ZG107, ZG502."""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding, Fix
from zerograd.source.counting.counters import ACCUMULATION, Guard, read_guard
from zerograd.source.counting.losses import loss_of
from zerograd.source.counting.origins import Origins
from zerograd.source.fixes.acts import steps
from zerograd.source.fixes.page import Page
from zerograd.source.text.nodes import Nodes, below, place, written
from zerograd.source.text.paths import path_of

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)
_SIZED = ("DataLoader", "list")


def unnormalised(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG101: divide what is deposited; what is logged stays what it is."""
    call = page.at(finding.site, ast.Call)
    size = _size(page, call) if call is not None else None
    loss = loss_of(call) if call is not None else None
    if call is None or size is None or loss is None:
        return
    if isinstance(call.func, ast.Attribute) and loss is call.func.value:
        whole = page.receiver_text(call.func)
        divided = f"({whole} / {size})"
        change = page.replace_receiver(call.func, divided)
    else:
        low = isinstance(loss, ast.BinOp) and not isinstance(loss.op, ast.Mult | ast.Div)
        plain = isinstance(loss, (ast.BinOp, *_ATOMS)) and not low
        change = page.replace(loss, f"{page.source(loss)} / {size}" if plain else f"({page.source(loss)}) / {size}")
    yield from page.fix(f"divide the loss by {size}", change)


def _size(page: Page, call: ast.Call) -> str | None:
    """The number of micro-batches in the group, as it is written."""
    origins = _origins(page, call)
    for loop in page.loops(call):
        guards = [guard for node in page.inside(loop, ast.If) if (guard := read_guard(node.test, origins)) is not None]
        sizes = {guard.size for guard in guards if guard.loop is loop and _guards_step(page, loop, guard, origins)}
        match loop:
            # range(0, n, size) has another number of rounds than any of its bounds.
            case ast.For(iter=ast.Call(func=func, args=[bound])) if not sizes and _is_range(func):
                size = page.source(bound)
                sizes = {size} if ACCUMULATION.search(size.lower()) else set()
        if len(sizes) == 1:
            size = sizes.pop()
            atom = isinstance(ast.parse(size, mode="eval").body, _ATOMS)
            return size if atom else f"({size})"
    return None


def _is_range(func: ast.expr) -> bool:
    return (path_of(func) or "").endswith("range")


def _guards_step(page: Page, loop: ast.AST, guard: Guard, origins: Origins) -> bool:
    branches = page.inside(loop, ast.If)
    return any(read_guard(node.test, origins) == guard and steps(page, node) for node in branches)


def tail(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG102: step at the last micro-batch as well."""
    test = page.at(finding.site, ast.expr)
    match test:
        case ast.Compare(left=ast.BinOp(op=ast.Mod()), ops=[ast.Eq()]):
            guard = read_guard(test, _origins(page, test))
        case _:
            return
    match guard.loop if guard is not None else None:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=name), *_]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[over, *rest], keywords=named),
        ):
            start = rest[0] if rest else named[0].value if named else ast.Constant(0)
            batches = _sized(page, over)
            if batches and isinstance(start, ast.Constant) and start.value in (0, 1):
                last = f"{name} + 1" if start.value == 0 else name
                yield from page.fix(
                    "also step at the last micro-batch", page.behind(test, f" or {last} == len({batches})")
                )


def _sized(page: Page, over: ast.expr) -> str | None:
    """What is iterated, if it has a length: tqdm(loader) is as long as loader."""
    while isinstance(over, ast.Call) and (path_of(over.func) or "").rpartition(".")[2] == "tqdm" and over.args:
        over = over.args[0]
    path = path_of(over)
    if path is None:
        return None
    made = [
        written(node.value.func) if isinstance(node.value, ast.Call) else type(node.value).__name__
        for node in below(page.tree)
        if isinstance(node, ast.Assign) and any(path_of(target) == path for target in node.targets)
    ]
    sized = bool(made) and all(one.endswith(_SIZED) or one in ("List", "ListComp") for one in made)
    return page.source(over) if sized or (not made and path.lower().endswith(("loader", "dataloader"))) else None


def uneven(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG103: ask for the last micro-batch of a group."""
    test = page.at(finding.site, ast.expr)
    yield from _shift(page, test, -1) if test is not None else ()


def unsynchronised(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG502: the guard of no_sync asks what the guard of the step asks."""
    test = page.at(finding.site, ast.expr)
    if test is None:
        return
    origins = _origins(page, test)
    guard = read_guard(test, origins)
    for branch in page.inside(page.function(test), ast.If):
        other = read_guard(branch.test, origins)
        alike = guard is not None and other is not None and (guard.loop, guard.size) == (other.loop, other.size)
        if alike and steps(page, branch) and other is not None and other.phase is not None:
            yield from _shift(page, test, other.phase)


def _shift(page: Page, test: ast.expr, phase: int) -> Iterator[Fix]:
    """The counter of a test, moved so that it asks for another micro-batch: i becomes (i + 1)."""
    origins = _origins(page, test)
    if isinstance(test, ast.Name) and test.id in origins.flags:
        test = origins.flags[test.id]
    guard = read_guard(test, origins)
    found = [node for node in page.inside(test, ast.BinOp) if isinstance(node.op, ast.Mod)]
    if guard is None or guard.phase is None or len(found) != 1:
        return
    counter, by = _counter(found[0].left)
    by += guard.phase - phase
    if counter is not None:
        name = page.source(counter)
        text = name if by == 0 else f"({name} {'+' if by > 0 else '-'} {abs(by)})"
        change = page.replace_operand(found[0], text)
        yield from page.fix(f"test {text} % {page.source(found[0].right)} instead", change)


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
    loss = loss_of(call) if call is not None else None
    if call is None or loss is None:
        return
    size = finding.message.partition(" divides by ")[2].partition(" a second ")[0]
    name = page.source(loss)
    for node in page.inside(page.function(call), ast.AugAssign):
        if isinstance(node.op, ast.Div) and page.source(node.target) == name and written(node.value) == size:
            yield from page.fix(f"do not divide the loss by {size}", page.delete(node))
    made = [
        node.value
        for node in page.inside(page.function(call), ast.Assign)
        if place(node) < place(call) and any(page.source(target) == name for target in node.targets)
    ]
    for value in [loss, *reversed(made)]:
        match value:
            case ast.BinOp(left=left, op=ast.Div(), right=right) if written(right) == size:
                yield from page.fix(f"do not divide the loss by {size}", page.keep_left(value, left))


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


def _origins(page: Page, node: ast.AST) -> Origins:
    return Origins(Nodes(page.function(node)))
