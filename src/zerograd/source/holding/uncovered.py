"""`generator.zero_grad()` where the optimizer holds more than the generator: the rest is never cleared (ZG006).

optimizer = Adam([*generator.parameters(), *encoder.parameters()])
...
generator.zero_grad()
loss(generator(encoder(x))).backward()
optimizer.step()

Told only where nobody else could clear the rest: whoever gets the module or the optimizer, unread, silences it.
"""

import ast
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.findings import Finding, Related
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.ancestry import Ancestry
from zerograd.source.lowering.skeleton import Act
from zerograd.source.names.opaque import is_familiar, makes_object
from zerograd.source.names.reach import Reach, freezes
from zerograd.source.names.roles import makes_optimizer
from zerograd.source.text.nodes import below, holds
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.owned import READERS
from zerograd.source.values.reading import File, Reading

_BY_OTHER_MEANS = pattern(r"""['"]zero_grad['"]|_foreach_""")
_QUIET = ("@torch.no_grad", "@torch.inference_mode")  # a function that a loss may be thought to go through
_BARE = (ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Dict)  # what is in them is not called
_FEW, _MOST = 8, 20  # steps that are looked at in one function, and optimizers of a file


class _Made(NamedTuple):
    name: str
    call: ast.Call
    modules: tuple[str, ...]


def detect(function: Reading) -> Iterator[Finding]:
    clears = [act for act in function.having(Kind.CLEAR) if act.of_module and len(act.reaches) == 1]
    if not clears or _BY_OTHER_MEANS.search(function.file.text) or _clears_by_hand(function.file):
        return
    for step in function.having(Kind.CONSUME)[:_FEW] if len(_optimizers(function.file)) <= _MOST else ():
        made = [one for one in _optimizers(function.file) if one.name == step.slot]
        modules = made[0].modules if len({one.modules for one in made}) == 1 else ()  # Adam or SGD, of the same
        cleared = {one: act for act in clears for one in act.reaches if one in modules}
        if len(modules) > 1 and cleared and all(_recurs(function, step, one.call) for one in made):
            left = [one for one in modules if not _is_cleared(function.file, one, made[0].name)]
            module = next((one for one in left if _is_alone(function, one, made[0].name)), None)
            if module is not None and not _clears_elsewhere(function):
                one, act = next(iter(cleared.items()))
                related = (Related(act.site, f"{one} alone is cleared here"),)
                told = {"step": step.what, "cleared": one, "slot": module}
                yield note(REGISTRY["ZG006"], step.site, certain=True, related=related, **told)


# Of the whole file, worked out once


@lru_cache(maxsize=2)
def _optimizers(file: File) -> list[_Made]:
    """Those that this file makes, each with the modules whose parameters it was given."""
    assigned = [node for node in below(file.program.tree) if isinstance(node, ast.Assign) and len(node.targets) == 1]
    lists: dict[str, list[ast.expr]] = {}
    for node in assigned:
        lists.setdefault(path_of(node.targets[0]) or "", []).append(node.value)
    found: list[_Made] = []
    for node in assigned:
        call = node.value
        if isinstance(call, ast.Call) and call.args and makes_optimizer(call, file.program.roots.module):
            given = call.args[0]
            several = lists.get(given.id, []) if isinstance(given, ast.Name) else []
            given = several[0] if len(several) == 1 else given
            found.append(_Made(path_of(node.targets[0]) or "", call, tuple(dict.fromkeys(_modules(given)))))
    return found


def _modules(given: ast.expr) -> Iterator[str]:
    """`X` of every X.parameters(), wherever it stands: in a sum, a chain, a group."""
    for part in below(given):
        match part:
            case ast.Call(func=ast.Attribute(value=value, attr="parameters"), args=[], keywords=[]):
                path = path_of(value)
                if path is not None and "[" not in path:
                    yield path


@lru_cache(maxsize=2)
def _cleared_anywhere(file: File) -> frozenset[str]:
    """Whatever this file clears, by its name."""
    nodes = below(file.program.tree)
    clears = (node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr == "zero_grad")
    return frozenset(path_of(cleared) or "?" for cleared in clears)


@lru_cache(maxsize=2)
def _clears_by_hand(file: File) -> bool:
    """Whether gradients are touched by hand, but for what a function does that nobody here calls."""
    if not file.reads_gradients:
        return False
    nodes = below(file.program.tree)
    called = {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }
    idle = [one.node for one in file.program.roots.functions if one.node.name not in called]
    gradients = (node for node in nodes if isinstance(node, ast.Attribute) and node.attr in ("grad", "_grad"))
    by_hand = (node for node in gradients if path_of(node.value) not in ("autograd", "torch.autograd"))
    return any(not any(holds(one, node) for one in idle) for node in by_hand)


@lru_cache(maxsize=2)
def _handed(file: File) -> dict[str, list[ast.Call]]:
    """The calls that get something, by its name, as it is or in a list."""
    found: dict[str, list[ast.Call]] = {}
    for call in (node for node in below(file.program.tree) if isinstance(node, ast.Call)):
        for given in (*call.args, *(named.value for named in call.keywords)):
            parts = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
            for path in filter(None, map(path_of, parts)):
                found.setdefault(path, []).append(call)
    return found


@lru_cache(maxsize=2)
def _assigned(file: File) -> list[tuple[str, ast.expr]]:
    nodes = (node for node in below(file.program.tree) if isinstance(node, ast.Assign))
    return [(path_of(target) or "?", node.value) for node in nodes for target in node.targets]


# Of one step


def _recurs(function: Reading, step: Act, made: ast.Call) -> bool:
    """Whether it is done again and again with the same optimizer."""
    loop = function.loop_around(step.node) if step.node is not None else None
    if loop is not None:
        return not holds(loop, made)
    return function.scope.owner is not None and not holds(function.node, made)


def _is_cleared(file: File, module: str, optimizer: str) -> bool:
    """Whether something that the file clears is the module, has it as a part, or cannot be told."""
    made = _optimizers(file)
    known = {name for one in made for name in (one.name, *one.modules)} - {optimizer}
    return any(path not in known or module == path or module.startswith(f"{path}.") for path in _cleared_anywhere(file))


def _is_alone(function: Reading, module: str, optimizer: str) -> bool:
    """Whether a module is trained here, is nobody's part, and nobody gets it or the optimizer who might clear it."""
    return (
        _is_trained(function, module) and _is_apart(function.file, module) and not _leaves(function, module, optimizer)
    )


def _is_trained(function: Reading, module: str) -> bool:
    """Whether a loss here goes through it, and nothing freezes it for good."""
    calls = function.of(ast.Call)
    thaws = any(
        path_of(call.args[0]) == module and isinstance(call.args[1], ast.Constant) and call.args[1].value is True
        for call in calls
        if len(call.args) == 2
    )
    if freezes(function.file.text) and not thaws:
        return False
    deposits = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    losses = [loss for call in deposits if (loss := loss_of(call)) is not None]
    called = [call for call in calls if path_of(call.func) == module]
    if not called or any(map(function.file.says, _QUIET)):
        reach = Reach(function.node, function.scope) if losses else None
        return reach is not None and any(module in reach.of(loss) for loss in losses)
    ancestry = Ancestry(function)
    return any(call in ancestry.of(loss) for loss in losses for call in called)


def _is_apart(file: File, module: str) -> bool:
    """Whether it is made by itself, as an object, and is assigned to nothing else: G.encoder = E."""
    made = [value for name, value in _assigned(file) if name == module]
    wrapped = [value for value in made if isinstance(value, ast.Call) and _wraps(value, module)]
    own = [value for value in made if value not in wrapped]
    others = [value for name, value in _assigned(file) if name != module and isinstance(value, _BARE)]
    given = any(module in map(path_of, below(value)) for value in others)
    return len(own) == 1 and makes_object(own[0]) and not given


def _wraps(call: ast.Call, module: str) -> bool:
    """E = DataParallel(E), E = E.to(device)"""
    first = path_of(call.args[0]) if call.args else None
    wraps = first == module and (path_of(call.func) or "").rpartition(".")[2] in (
        "DataParallel",
        "DistributedDataParallel",
    )
    return wraps or (path_of(call.func) or "").startswith(f"{module}.")


def _leaves(function: Reading, module: str, optimizer: str) -> bool:
    """Whether somebody gets the module or the optimizer who cannot be read, or who clears."""
    file = function.file
    for call in [call for name in (module, optimizer) for call in _handed(file).get(name, [])]:
        path = path_of(call.func) or "?"
        called = file.program.roots.module.function(path)
        read = called is not None and not (called.node is not function.node and file.program.body_of(called))
        of_torch = file.program.roots.module.dotted(path).partition(".")[0] in READERS and not _wraps_other(
            call, module
        )
        if not (read or of_torch or path == module or _wraps(call, module) or path.endswith("load_state_dict")):
            return True
    return False


def _wraps_other(call: ast.Call, module: str) -> bool:
    """nn.Sequential(encoder, head): torch's own may take it as a part."""
    return (path_of(call.func) or "").rpartition(".")[2][:1].isupper() and not _wraps(call, module)


def _clears_elsewhere(function: Reading) -> bool:
    """Whether a base class that cannot be read, or a file that knows this one, may clear."""
    cls = function.scope.owner
    if cls is not None and not all(map(is_familiar, cls.lineage())):
        return True
    stem, texts = os.path.splitext(os.path.basename(function.file.path))[0], function.file.beside
    knows = re.compile(rf"\b{re.escape(stem)}\b")
    other = [one for one in cls.lineage() if one.module is not function.scope.module] if cls is not None else []
    return bool(other) or texts is None or any("zero_grad" in text and knows.search(text) for text in texts)
