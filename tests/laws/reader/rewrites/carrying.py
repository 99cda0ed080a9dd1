"""The same value by another way: through a second name, a container, an object, a bound method.

What is rewritten is `name = call(...)` and `self.name = call(...)` in functions and module bodies, not in class
bodies, whose names are attributes of the class.
"""

import ast
import itertools
from collections.abc import Callable

from laws.reader.rewrites.origins import in_place_of, lines_of, standing_for
from laws.reader.rewrites.placing import after_imports, fresh

EVENTS = ("step", "zero_grad", "backward")


def through_another_name(tree: ast.Module) -> ast.Module | None:
    """`made = call(); name = made`: a name more for one object."""
    return _carried(tree, lambda made, value: [f"{made} = {value}", f"{{target}} = {made}"])


def through_a_tuple(tree: ast.Module) -> ast.Module | None:
    """`made = (call(), None); name = made[0]`: indexing a tuple gives the object that was put in."""
    return _carried(tree, lambda made, value: [f"{made} = ({value}, None)", f"{{target}} = {made}[0]"])


def through_unpacking(tree: ast.Module) -> ast.Module | None:
    """`made, name = None, call()`: unpacking binds the object itself; `made` is read by nobody."""
    return _carried(tree, lambda made, value: [f"{made}, {{target}} = (None, {value})"])


def through_a_dictionary(tree: ast.Module) -> ast.Module | None:
    """`made = {"held": call()}; name = made["held"]`."""
    return _carried(tree, lambda made, value: [f"{made} = {{{{'held': {value}}}}}", f"{{target}} = {made}['held']"])


def through_a_dataclass(tree: ast.Module) -> ast.Module | None:
    """`made = Holder(call()); name = made.held`, for a dataclass with that one field."""
    holder = fresh(tree, "Holder")
    done = _carried(tree, lambda made, value: [f"{made} = {holder}({value})", f"{{target}} = {made}.held"])
    if done is not None:
        dataclass = fresh(tree, "dataclass")
        imported = f"from dataclasses import dataclass as {dataclass}"
        text = f"{imported}\n@{dataclass}\nclass {holder}:\n    held: object\n"
        after_imports(done, [standing_for(statement) for statement in ast.parse(text).body])
    return done


def through_a_bound_method(tree: ast.Module) -> ast.Module | None:
    """`act = optimizer.step; act()`: the receiver is evaluated first in both, and nothing happens in between."""
    first_name, count = fresh(tree, "act"), itertools.count(1)

    def bound(statement: ast.Expr, call: ast.Call) -> list[ast.stmt]:
        assert isinstance(call.func, ast.Attribute)
        name = f"{first_name}{next(count)}"
        first, second = in_place_of(statement, f"{name} = None\n{name}()")
        assert isinstance(first, ast.Assign)
        assert isinstance(second, ast.Expr)
        first.value = call.func
        second.value = standing_for(ast.Call(ast.Name(name, ast.Load()), [], []), *lines_of(statement))
        second.value.args, second.value.keywords = call.args, call.keywords
        return [first, second]

    return _Events(bound).done(tree)


def through_a_list(tree: ast.Module) -> ast.Module | None:
    """`for each in [optimizer]: each.step()`: a list of one is gone through once."""
    name = fresh(tree, "each")

    def listed(statement: ast.Expr, call: ast.Call) -> list[ast.stmt]:
        assert isinstance(call.func, ast.Attribute)
        (loop,) = in_place_of(statement, f"for {name} in [None]:\n    pass")
        assert isinstance(loop, ast.For)
        loop.iter = standing_for(ast.List([call.func.value], ast.Load()), *lines_of(statement))
        call.func.value = standing_for(ast.Name(name, ast.Load()), *lines_of(statement))
        loop.body = [statement]
        return [loop]

    return _Events(listed).done(tree)


def _carried(tree: ast.Module, way: Callable[[str, str], list[str]]) -> ast.Module | None:
    carrier = _Carrier(fresh(tree, "made"), way)
    carrier.visit(tree)
    return tree if carrier.count else None


class _Carrier(ast.NodeTransformer):
    def __init__(self, made: str, way: Callable[[str, str], list[str]]) -> None:
        self._made, self._way, self.count = made, way, 0

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        target = node.targets[0]
        if (
            len(node.targets) > 1
            or not isinstance(target, ast.Name | ast.Attribute)
            or not isinstance(node.value, ast.Call)
        ):
            return node
        self.count += 1
        lines = self._way(f"{self._made}{self.count}", "VALUE")
        statements = in_place_of(node, "\n".join(line.format(target="TARGET") for line in lines))
        return [_Filled(target, node.value).visit(statement) for statement in statements]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.visit(one) if isinstance(one, ast.FunctionDef) else one for one in node.body]
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        return node


class _Filled(ast.NodeTransformer):
    """A template with its target and its value in place."""

    def __init__(self, target: ast.expr, value: ast.expr) -> None:
        self._parts = {"TARGET": target, "VALUE": value}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._parts.get(node.id, node)


class _Events(ast.NodeTransformer):
    """Every statement that is a call of step, zero_grad or backward on something, replaced."""

    def __init__(self, replaced: Callable[[ast.Expr, ast.Call], list[ast.stmt]]) -> None:
        self._replaced, self._count = replaced, 0

    def done(self, tree: ast.Module) -> ast.Module | None:
        self.visit(tree)
        return tree if self._count else None

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in EVENTS:
            return node
        if any(isinstance(part, ast.Yield | ast.YieldFrom | ast.Await | ast.NamedExpr) for part in ast.walk(call)):
            return node
        if ast.unparse(call.func.value).startswith("super("):
            return node
        self._count += 1
        return self._replaced(node, call)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.visit(one) if isinstance(one, ast.FunctionDef) else one for one in node.body]
        return node
