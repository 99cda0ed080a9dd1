"""The same call at another place: `x.step()`, `x.zero_grad()` and `x.backward()` moved into a function of one line.

Only whole statements without arguments are moved, never on `self` or `super()`: what a method does to its own object
may depend on the class that encloses it.
"""

import ast
import itertools
from collections.abc import Callable, Iterator

from laws.reader.readers import MAIN
from laws.reader.rewrites.carrying import EVENTS
from laws.reader.rewrites.origins import Trees, in_place_of, standing_for
from laws.reader.rewrites.placing import after_imports, fresh

_PLAIN_NAMES = {"step": "do_it", "zero_grad": "tidy", "backward": "pull"}


def into_helpers(tree: ast.Module) -> ast.Module | None:
    """`do_it(optimizer)` for `optimizer.step()`: the function calls the same method of the same object, and returns."""
    helpers = {event: fresh(tree, name) for event, name in _PLAIN_NAMES.items()}
    lines = _moved(tree, lambda event, receiver: f"{helpers[event]}({receiver})")
    if not lines:
        return None
    after_imports(tree, list(_functions(helpers, lines)))
    return tree


def into_another_file(tree: ast.Module) -> Trees | None:
    """As into_helpers, with the helpers imported from a file beside it."""
    helpers = {event: fresh(tree, name) for event, name in _PLAIN_NAMES.items()}
    lines = _moved(tree, lambda event, receiver: f"{helpers[event]}({receiver})")
    if not lines:
        return None
    imported = ast.parse(f"from hands import {', '.join(helpers[event] for event in lines)}").body
    after_imports(tree, [standing_for(statement) for statement in imported])
    return {MAIN: tree, "hands.py": ast.Module(list(_functions(helpers, lines)), [])}


def into_methods(tree: ast.Module) -> ast.Module | None:
    """`hands.do_it(optimizer)`: methods of an object that has nothing else, made once before all."""
    cls, hands = fresh(tree, "Hands"), fresh(tree, "hands")
    lines = _moved(tree, lambda event, receiver: f"{hands}.{_PLAIN_NAMES[event]}({receiver})")
    if not lines:
        return None
    made = standing_for(ast.parse(f"class {cls}:\n    pass\n{hands} = {cls}()"))
    assert isinstance(made.body[0], ast.ClassDef)
    made.body[0].body = list(_functions(_PLAIN_NAMES, lines, first="self, "))
    after_imports(tree, made.body)
    return tree


def into_closures(tree: ast.Module) -> ast.Module | None:
    """A function without parameters is defined where the call stood, closes over the receiver, and is called at once.
    Not in class bodies, whose names it would not see."""
    names = {event: fresh(tree, f"{name}_now") for event, name in _PLAIN_NAMES.items()}
    count = itertools.count(1)

    def closure(event: str, receiver: str) -> str:
        name = f"{names[event]}_{next(count)}"
        return f"def {name}():\n    return {receiver}.{event}()\n{name}()"

    return tree if _moved(tree, closure) else None


def into_lambdas(tree: ast.Module) -> ast.Module | None:
    """`act(lambda: optimizer.step())`, where act calls what it is given: the lambda closes over the receiver and is
    called at once. Not in class bodies."""
    act = fresh(tree, "act")
    lines = _moved(tree, lambda event, receiver: f"{act}(lambda: {receiver}.{event}())")
    if not lines:
        return None
    (function,) = standing_for(ast.parse(f"def {act}(what):\n    return what()")).body
    after_imports(tree, [function])
    return tree


def _functions(names: dict[str, str], lines: dict[str, list[int]], first: str = "") -> Iterator[ast.stmt]:
    """One function for each event: its body stands for all the lines that were moved into it."""
    for event, moved in lines.items():
        (function,) = standing_for(ast.parse(f"def {names[event]}({first}thing):\n    return thing.{event}()")).body
        assert isinstance(function, ast.FunctionDef)
        standing_for(function.body[0], *moved)
        yield function


def _moved(tree: ast.Module, call: Callable[[str, str], str]) -> dict[str, list[int]]:
    """Replace the calls by statements of this text; by event, the lines they stood in."""
    mover = _Mover(call)
    mover.visit(tree)
    return mover.lines


class _Mover(ast.NodeTransformer):
    def __init__(self, call: Callable[[str, str], str]) -> None:
        self._call = call
        self.lines: dict[str, list[int]] = {}

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        call = node.value
        if not isinstance(call, ast.Call) or call.args or call.keywords or not isinstance(call.func, ast.Attribute):
            return node
        event, receiver = call.func.attr, call.func.value
        if event not in EVENTS or not isinstance(receiver, ast.Name | ast.Attribute):
            return node
        if isinstance(receiver, ast.Name) and receiver.id in ("self", "cls"):
            return node
        self.lines.setdefault(event, []).append(node.lineno)
        return in_place_of(node, self._call(event, ast.unparse(receiver)))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.visit(one) if isinstance(one, ast.FunctionDef) else one for one in node.body]
        return node
