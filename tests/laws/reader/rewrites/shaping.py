"""The same order of things, written with other statements."""

import ast
from collections.abc import Callable
from typing import TypeVar

from laws.reader.rewrites.origins import in_place_of, lines_of, standing_for
from laws.reader.rewrites.placing import fresh

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_L = TypeVar("_L", ast.For, ast.While)


def script_in_main(tree: ast.Module) -> ast.Module | None:
    """What the module body does moves into main(), called at its end. Only where no function or class names what the
    body binds, for those would no longer find it, and where nothing runs between two definitions of one name."""
    head = [one for one in tree.body if isinstance(one, _DEFINITIONS) or _is_text(one)]
    rest = [one for one in tree.body if one not in head]
    bound = {node.id for one in rest for node in ast.walk(one) if isinstance(node, ast.Name) and not _is_load(node)}
    defined = [one.name for one in head if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    named = {node.id for one in head for node in ast.walk(one) if isinstance(node, ast.Name)}
    named |= {name for one in head for node in ast.walk(one) if isinstance(node, ast.Global) for name in node.names}
    clash = bound & (named | set(defined)) or len(defined) != len(set(defined))
    if not rest or clash or any(_looks_at_module(node) for one in rest for node in ast.walk(one)):
        return None
    main = fresh(tree, "main")
    definition, call = [standing_for(one) for one in ast.parse(f"def {main}():\n    pass\n{main}()").body]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = rest
    tree.body = [*head, definition, call]
    return tree


def while_for_for(tree: ast.Module) -> ast.Module | None:
    """`source = iter(...)`, `while True`, `next(source)`, and StopIteration ends it: what a for statement does. Not
    for one with an else, which this would have to follow."""
    name = fresh(tree, "source")

    def loop(node: ast.For, count: int) -> list[ast.stmt]:
        text = f"""
{name}{count} = iter(ITER)
while True:
    try:
        TARGET = next({name}{count})
    except StopIteration:
        break
"""
        first, second = in_place_of(node, text)
        assert isinstance(first, ast.Assign)
        assert isinstance(first.value, ast.Call)
        assert isinstance(second, ast.While)
        assert isinstance(second.body[0], ast.Try)
        assert isinstance(second.body[0].body[0], ast.Assign)
        first.value.args = [node.iter]
        second.body[0].body[0].targets = [node.target]
        second.body += node.body
        return [first, second]

    return _Loops(loop).done(tree)


def counted_while(tree: ast.Module) -> ast.Module | None:
    """`for i in range(n)` as a while over a counter of its own: `i` is set from it first, so it is i that the body may
    change, and the counter goes on before the body, so that `continue` skips nothing. `n` is evaluated once."""
    name = fresh(tree, "turn")

    def loop(node: ast.For, count: int) -> list[ast.stmt] | None:
        call = node.iter
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "range" or len(call.args) != 1 or call.keywords:
            return None
        turn, end = f"{name}{count}", f"{name}{count}_end"
        text = f"{turn} = 0\n{end} = N\nwhile {turn} < {end}:\n    TARGET = {turn}\n    {turn} += 1"
        start, limit, body = in_place_of(node, text)
        assert isinstance(limit, ast.Assign)
        assert isinstance(body, ast.While)
        assert isinstance(body.body[0], ast.Assign)
        limit.value, body.body[0].targets = call.args[0], [node.target]
        body.body += node.body
        return [start, limit, body]

    return _Loops(loop).done(tree)


def early_continue(tree: ast.Module) -> ast.Module | None:
    """A loop that ends in `if test: body` says `if not test: continue` instead, and body behind it."""

    class Flattened(ast.NodeTransformer):
        count = 0

        def visit_For(self, node: _L) -> _L:
            self.generic_visit(node)
            last = node.body[-1]
            if isinstance(last, ast.If) and not last.orelse:
                self.count += 1
                (skip,) = in_place_of(last, "if not TEST:\n    continue")
                assert isinstance(skip, ast.If)
                skip.test = _negated(last.test)
                node.body[-1:] = [skip, *last.body]
            return node

        visit_While = visit_For

    flattened = Flattened()
    flattened.visit(tree)
    return tree if flattened.count else None


def other_arm_first(tree: ast.Module) -> ast.Module | None:
    """`if not test: B else: A` for `if test: A else: B`. Not where the else is itself an if: that would be another
    chain."""

    class Turned(ast.NodeTransformer):
        count = 0

        def visit_If(self, node: ast.If) -> ast.If:
            self.generic_visit(node)
            if node.orelse and not isinstance(node.orelse[0], ast.If):
                self.count += 1
                node.test = _negated(node.test)
                node.body, node.orelse = node.orelse, node.body
            return node

    turned = Turned()
    turned.visit(tree)
    return tree if turned.count else None


def named_tests(tree: ast.Module) -> ast.Module | None:
    """`decided = test` before `if decided`: the test is evaluated where it was, once. Not for an elif, which is
    evaluated only if the tests before it fail."""
    name = fresh(tree, "decided")

    class Named(ast.NodeTransformer):
        count = 0

        def visit_If(self, node: ast.If) -> list[ast.stmt] | ast.If:
            chained = [one for one in node.orelse if isinstance(one, ast.If)]
            node.body = self._all(node.body)
            node.orelse = node.orelse if len(node.orelse) == 1 and chained else self._all(node.orelse)
            if any(isinstance(part, ast.NamedExpr | ast.Yield | ast.Await) for part in ast.walk(node.test)):
                return node
            self.count += 1
            (decided,) = in_place_of(node, f"{name}{self.count} = TEST")
            assert isinstance(decided, ast.Assign)
            decided.value, line = node.test, lines_of(node)
            node.test = standing_for(ast.Name(f"{name}{self.count}", ast.Load()), *line)
            return [decided, node]

        def _all(self, body: list[ast.stmt]) -> list[ast.stmt]:
            visited = (self.visit(one) for one in body)
            return [part for one in visited for part in (one if isinstance(one, list) else [one])]

        def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
            node.body = [self.visit(one) if isinstance(one, ast.FunctionDef) else one for one in node.body]
            return node

    named = Named()
    named.visit(tree)
    return tree if named.count else None


class _Loops(ast.NodeTransformer):
    """Every for statement without an else, replaced; None leaves one as it is."""

    def __init__(self, replaced: Callable[[ast.For, int], list[ast.stmt] | None]) -> None:
        self._replaced, self._count = replaced, 0

    def done(self, tree: ast.Module) -> ast.Module | None:
        self.visit(tree)
        return tree if self._count else None

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        new = self._replaced(node, self._count + 1) if not node.orelse else None
        self._count += new is not None
        return node if new is None else new

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.visit(one) if isinstance(one, ast.FunctionDef) else one for one in node.body]
        return node


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    negation = standing_for(ast.UnaryOp(ast.Not(), ast.Constant(None)), *lines_of(test))
    negation.operand = test
    return negation


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _looks_at_module(node: ast.AST) -> bool:
    """What means something else in a function: names that are looked up by text, and what only a module may have."""
    looked_up = isinstance(node, ast.Name) and node.id in ("globals", "locals", "vars", "eval", "exec")
    return looked_up or isinstance(node, ast.Global | ast.Return | ast.Yield | ast.Await)
