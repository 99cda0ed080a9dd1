"""What is done by hand to gradients, parameters and losses: ZG303, ZG304, ZG402."""

import ast
from collections.abc import Iterator

from zerograd.core.findings import Finding, Fix, Safety
from zerograd.source.fixes.page import Page
from zerograd.source.text.nodes import place, written
from zerograd.source.text.paths import path_of


def clear_by_none(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG303: `W.grad = None` needs no gradient to be there."""
    for call in page.inside(page.tree, ast.Call):
        if place(call)[0][0] != finding.site.line or not page.is_statement(call) or call.args:
            continue
        cleared = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "zero_" else None
        if isinstance(cleared, ast.Attribute) and cleared.attr == "data":
            cleared = cleared.value
        if isinstance(cleared, ast.Attribute) and cleared.attr == "grad":
            yield from page.fix("set it to None instead", page.replace(call, f"{page.source(cleared)} = None"))


def update_unwatched(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG304: update in place under no_grad(), and clear if nothing does."""
    if not _imports_torch(page):
        return
    statement = page.at(finding.site, ast.Assign) or page.at(finding.site, ast.AugAssign)
    call = page.at(finding.site, ast.Call) if statement is None else None
    line = statement or (page.statement(call) if call is not None and page.is_statement(call) else None)
    match line:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=left, op=ast.Sub(), right=right)) if (
            path_of(left) == name
        ):
            code, parameter, anew = f"{name} -= {page.text[page.start(right) : page.end(line)]}", name, True
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            code, parameter, anew = f"{name}.copy_({page.source(value)})", name, False
        case ast.AugAssign(target=target) | ast.Expr(value=ast.Call(func=ast.Attribute(value=target))):
            code, parameter, anew = page.source(line), page.source(target), False
        case _:
            return
    if "\n" in code or "\r" in code:
        return
    clear = [f"{parameter}.grad = None"] if anew and not _is_cleared(page, line, parameter) else []
    yield from page.fix(
        "update it in place under torch.no_grad()", page.under(line, "with torch.no_grad():", code, *clear)
    )


def _imports_torch(page: Page) -> bool:
    return any(
        alias.name == "torch" and not alias.asname
        for node in page.inside(page.tree, ast.Import)
        for alias in node.names
    )


def _is_cleared(page: Page, line: ast.AST, parameter: str) -> bool:
    text = written(page.function(line)) if line not in page.tree.body else page.text
    return any(f"{parameter}.grad{how}" in text for how in (" = None", ".zero_(", ".data.zero_("))


def let_go_of_the_graph(page: Page, finding: Finding) -> Iterator[Fix]:
    """ZG402: add what has no graph; or do not retain it."""
    total = page.at(finding.site, ast.AugAssign)
    if total is not None and path_of(total.value) is not None:
        detached = page.behind(total.value, ".detach()")
        yield from page.fix("detach the loss first", detached, safety=Safety.SAFE)
    call = page.at(finding.site, ast.Call)
    kept = [keyword for keyword in call.keywords if keyword.arg == "retain_graph"] if call is not None else []
    if call is not None and kept and len(call.args) + len(call.keywords) == 1:
        yield from page.fix(
            "call backward() without retaining the graph", page.replace(call, f"{page.source(call.func)}()")
        )
