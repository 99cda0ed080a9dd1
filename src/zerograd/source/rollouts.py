"""What is remembered of acting, with graphs that nobody goes through (ZG402).

def act(self, state, memory):
    dist = Categorical(self.policy(state))
    action = dist.sample()
    memory.logprobs.append(dist.log_prob(action))       # and later: torch.stack(memory.logprobs).detach()

Every step of an episode keeps its forward pass until the memory is emptied. Certain where the whole file says so: all
who read the list detach what they read, and nobody acts under no_grad().
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source import wording
from zerograd.source.callers import calls_of
from zerograd.source.definitions import definitions_of
from zerograd.source.nodes import below, holds
from zerograd.source.paths import path_of
from zerograd.source.reach import freezes
from zerograd.source.reading import File, Reading
from zerograd.source.sums import appends_to

_DEEP = 3  # levels of callers
_KEEPING = frozenset({"append", "clear"})
_DRAWN = frozenset({"log_prob", "entropy"})


def detect(file: File) -> Iterator[Finding]:
    if not file.says("log_prob(") or not file.says(".detach()") or not file.says("backward("):
        return
    if file.says("set_grad_enabled") or freezes(file.text):
        return
    for one in file.program.roots.functions:
        function = Reading(one.node, (), one.scope, file)
        for node, keeper, value in appends_to(function):
            name = keeper.rpartition(".")[2]
            if "." not in keeper or not _has_graph(value, function) or not _is_always_detached(name, file):
                continue
            if not function.without_grad(node) and not _is_quiet(function):
                what = (
                    f"{keeper}.append(...) keeps graphs that nobody goes through: .{name} is detached where it is read"
                )
                yield note(REGISTRY["ZG402"], function.site(node), certain=True, what=what)


def _has_graph(value: ast.expr, function: Reading) -> bool:
    """dist.log_prob(action), or what it was assigned to, of a distribution that a network's output makes."""
    if isinstance(value, ast.Name):
        made = definitions_of(function).every(value.id)
        return len(made) == 1 and made[0].at is None and _has_graph(made[0].value, function)
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _DRAWN:
            made = definitions_of(function).every(name)
            return bool(made) and all(_is_learned(one.value, function) for one in made)
    return False


def _is_learned(value: ast.expr, function: Reading) -> bool:
    """Categorical(probabilities), where they are what something of the class's own has made of a state."""
    if not isinstance(value, ast.Call):
        return False
    dotted = function.scope.dotted(path_of(value.func) or "")
    given = [*value.args, *(keyword.value for keyword in value.keywords)]
    names = [part.id for one in given for part in below(one) if isinstance(part, ast.Name)]
    made = [one.value for name in names for one in definitions_of(function).every(name)]
    calls = [part for one in (*given, *made) for part in below(one) if isinstance(part, ast.Call)]
    cut = any(isinstance(call.func, ast.Attribute) and call.func.attr in wording.CUTS for call in calls)
    own = any(_is_network(path_of(call.func) or "", function) for call in calls)
    return dotted.startswith("torch.distributions.") and own and not cut


def _is_network(path: str, function: Reading) -> bool:
    """self.action_layer(state), policy(state): not a method, which may do anything."""
    return (path.startswith("self.") or wording.is_model(path)) and function.scope.function(path) is None


@lru_cache(maxsize=8)  # the lists of one file
def _is_always_detached(name: str, file: File) -> bool:
    """Whether whatever reads the list takes the graphs off: torch.stack(memory.logprobs).detach()."""
    nodes = below(file.program.tree)
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    detached = [call.func for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "detach"]
    asked = {
        id(call.func.value) for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _KEEPING
    }
    gone = [target for node in nodes if isinstance(node, ast.Delete) for target in node.targets]
    reads = [
        node
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
        if id(node) not in asked and not any(holds(target, node) for target in gone)
    ]
    return bool(reads) and all(any(holds(one, node) for one in detached) for node in reads)


def _is_quiet(function: Reading) -> bool:
    """Whether somebody acts under no_grad(): here, or in a file beside that names the function."""
    name, texts = getattr(function.node, "name", ""), function.file.beside
    named = re.compile(rf"\.{re.escape(name)}\(")
    elsewhere = texts is None or any(wording.looks_away(text) and named.search(text) for text in texts)
    return elsewhere or _acts_quietly(function, _DEEP)


def _acts_quietly(function: Reading, depth: int) -> bool:
    """Whether somebody calls it under no_grad(), or is called so."""
    return any(
        where.without_grad(call) or (depth > 0 and _acts_quietly(where, depth - 1))
        for where, call in calls_of(function)
    )
