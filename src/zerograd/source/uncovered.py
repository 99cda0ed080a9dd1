"""`generator.zero_grad()` where the optimizer holds more than the generator: the rest is never cleared (ZG006).

optimizer = Adam([*generator.parameters(), *encoder.parameters()])
...
generator.zero_grad()
loss(generator(encoder(x))).backward()
optimizer.step()
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.nodes import below, holds
from zerograd.source.parameters import makes_optimizer
from zerograd.source.quiet import quiet_parts
from zerograd.source.reading import File, Reading
from zerograd.source.scopes import path_of
from zerograd.source.wording import CUTS


def detect(function: Reading) -> Iterator[Finding]:
    clears = [act for act in function.having(Kind.CLEAR) if act.of_module and len(act.reaches) == 1]
    if not clears or _clears_by_hand(function):
        return
    for step in function.having(Kind.CONSUME):
        held = _held(function, step.slot or "")
        if len(held) < 2 or step.node is None or not _recurs(function, step.node):
            continue
        cleared = {one: act for act in clears for one in act.reaches if one in held}
        left = [
            module for module in held if not any(_is_inside(module, one) for one in _cleared_anywhere(function.file))
        ]
        if cleared and left and _are_known(function, step.slot or "", held):
            module = next((one for one in left if _is_trained(function, one) and _is_apart(function, one)), None)
            if module is not None:
                one, act = next(iter(cleared.items()))
                related = (Related(act.site, f"{one} alone is cleared here"),)
                told = {"step": step.what, "cleared": one, "slot": module}
                yield note(REGISTRY["ZG006"], step.site, certain=True, related=related, **told)


def _clears_by_hand(function: Reading) -> bool:
    """Whether gradients are touched by hand, but for what a function does that nobody here calls."""
    if not function.file.reads_gradients:
        return False
    nodes = below(function.file.program.tree)
    called = {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }
    idle = [one.node for one in function.file.program.roots.functions if one.node.name not in called]
    gradients = (node for node in nodes if isinstance(node, ast.Attribute) and node.attr in ("grad", "_grad"))
    by_hand = (node for node in gradients if path_of(node.value) not in ("autograd", "torch.autograd"))
    return any(not any(holds(one, node) for one in idle) for node in by_hand)


@lru_cache(maxsize=2)  # asked of every function of a file
def _optimizers(file: File) -> list[tuple[str, ast.Call]]:
    """Those that this file makes, by their names."""
    found: list[tuple[str, ast.Call]] = []
    for node in below(file.program.tree):
        match node:
            case ast.Assign(targets=[target], value=ast.Call(args=[_, *_]) as call):
                if makes_optimizer(call, file.program.roots.module):
                    found.append((path_of(target) or "", call))
    return found


def _held(function: Reading, slot: str) -> list[str]:
    """The modules whose parameters an optimizer was given, where it is made once in this file."""
    made = [call.args[0] for name, call in _optimizers(function.file) if name == slot]
    if len(made) != 1:
        return []
    given = made[0]
    if isinstance(given, ast.Name):
        nodes = (node for node in below(function.file.program.tree) if isinstance(node, ast.Assign))
        lists = [node.value for node in nodes if given.id in map(path_of, node.targets)]
        given = lists[0] if len(lists) == 1 else given
    return list(dict.fromkeys(_modules(given)))


def _modules(given: ast.expr) -> Iterator[str]:
    """`X` of every X.parameters(), wherever it stands: in a sum, a chain, a group."""
    for part in below(given):
        match part:
            case ast.Call(func=ast.Attribute(value=value, attr="parameters"), args=[], keywords=[]):
                path = path_of(value)
                if path is not None and "[" not in path:
                    yield path


def _recurs(function: Reading, step: ast.AST) -> bool:
    return function.loop_around(step) is not None or function.scope.owner is not None


def _is_inside(module: str, other: str) -> bool:
    return module == other or module.startswith(f"{other}.")


@lru_cache(maxsize=2)
def _cleared_anywhere(file: File) -> frozenset[str]:
    """Whatever this file clears, by its name."""
    nodes = below(file.program.tree)
    clears = (node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr == "zero_grad")
    return frozenset(path_of(cleared) or "?" for cleared in clears)


def _are_known(function: Reading, slot: str, held: list[str]) -> bool:
    """Whether nothing that the file clears may be the optimizer, or have the module as a part, under another name."""
    made = _optimizers(function.file)
    known = {*held, *(name for name, _ in made), *(module for _, call in made for module in _modules(call.args[0]))}
    return _cleared_anywhere(function.file) <= known - {slot}


def _is_trained(function: Reading, module: str) -> bool:
    """Whether it is called here, where autograd looks, and what it gives is not cut off at once."""
    quiet = list(quiet_parts(function))
    cut = {id(node.value) for node in function.of(ast.Attribute) if node.attr in CUTS}
    calls = [call for call in function.of(ast.Call) if path_of(call.func) == module and id(call) not in cut]
    return any(not any(holds(block, call) for block in quiet) for call in calls)


def _is_apart(function: Reading, module: str) -> bool:
    """Whether no other module is made of it: Generator(encoder)."""
    for node in below(function.file.program.tree):
        if isinstance(node, ast.Assign) and path_of(node.targets[0]) != module and isinstance(node.value, ast.Call):
            given = (*node.value.args, *(named.value for named in node.value.keywords))
            if any(path_of(one) == module for one in given) and not _is_called(node.value):
                return False
    return True


def _is_called(call: ast.Call) -> bool:
    """A function: what has a capital is a class."""
    return not (path_of(call.func) or "").rpartition(".")[2][:1].isupper()
