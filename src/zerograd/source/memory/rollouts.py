"""What is remembered of acting, with graphs that nobody goes through (ZG402).

def act(self, state, memory):
    dist = Categorical(self.policy(state))
    action = dist.sample()
    memory.logprobs.append(dist.log_prob(action))       # and later: torch.stack(memory.logprobs).detach()

Every step of an episode keeps its forward pass until the memory is emptied. Certain where the whole file says so: all
who read the list, or what it is poured into, detach what they read, and nobody acts under no_grad(). A list of the
function's own is told by that function alone.
"""

import ast
import os
import re
from collections.abc import Iterator
from functools import lru_cache

from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.graphs.drawn import acts_quietly, is_drawn
from zerograd.source.names.freezing import freezes
from zerograd.source.text import wording
from zerograd.source.text.nodes import below, holds, parents_of
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.definitions import Definition, definitions_of
from zerograd.source.values.owned import is_empty_list
from zerograd.source.values.reading import File, Reading
from zerograd.source.values.readouts import becomes_number, is_only_read
from zerograd.source.values.sums import appends_to

_DEEP = 3  # levels of callers, and lists that are poured into others
_KEEPING = frozenset({"append", "extend", "clear"})
_KEY = pattern(r"\['(\w+)'\]$")


def detect(file: File) -> Iterator[Finding]:
    if not file.says("log_prob(") or not file.says("backward(") or not (file.says("detach") or file.says(".data")):
        return
    if file.says("set_grad_enabled") or freezes(file.text):
        return
    for one in file.program.roots.functions:
        function = Reading(one.node, (), one.scope, file)
        for node, keeper, value in appends_to(function):
            key = _KEY.search(keeper)
            name = key[1] if key is not None else keeper.rpartition(".")[2]
            if not is_drawn(value, function) or _is_learned_from(function, node, value):
                continue
            detached = _is_own(function, keeper, node) if keeper.isidentifier() else _is_shared(function, keeper, name)
            if detached and not function.without_grad(node) and not _is_quiet(function):
                read = f".{name}" if "." in keeper else name
                what = f"{keeper}.append(...) keeps graphs that nothing uses: {read} is detached later"
                found = note(REGISTRY["ZG402"], function.site(node), certain=True, what=what)
                yield found._replace(cure="choose actions under torch.no_grad()")


def _is_learned_from(function: Reading, node: ast.Expr, value: ast.expr) -> bool:
    """Whether what is drawn, or the entropy beside it, goes into something else here that has a use for the graph."""
    names = {part.id for part in below(value) if isinstance(part, ast.Name) and is_drawn(part, function)}
    assigned: list[ast.Assign | ast.AugAssign] = [*function.of(ast.Assign), *function.of(ast.AugAssign)]
    drawn = [one for one in assigned if any(getattr(part, "attr", "") == "entropy" for part in below(one.value))]
    targets = [target for one in drawn for target in (one.targets if isinstance(one, ast.Assign) else [one.target])]
    names |= {path_of(target) or "" for target in targets} | _siblings(function, assigned)
    listed = [given for other, _, given in appends_to(function) if other is not node]
    if any(getattr(part, "attr", "") == "entropy" for given in listed for part in below(given)):
        return True
    own = [one for one in assigned if not names.isdisjoint(_stored(one))]
    return not all(is_only_read(function, name, node, *function.of(ast.Return), *own) for name in names)


def _siblings(function: Reading, assigned: list[ast.Assign | ast.AugAssign]) -> set[str]:
    """`value` of logits, value = self.net(state): what else that pass has made, if no distribution is made of it."""
    made = [call for call in function.of(ast.Call) if _is_made_of(call, function)]
    inner = [one for call in made for one in below(call) if isinstance(one, ast.Call) and one is not call]
    passes = [one for one in inner if not function.scope.dotted(path_of(one.func) or "torch.").startswith("torch.")]
    parts = [part for call in made for part in below(call) if isinstance(part, ast.Name)]
    used = {part.id for part in parts if not any(holds(one, part) for one in passes)}  # not what a network is given
    forwards = [one for one in assigned if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)]
    several = [_stored(one) for one in forwards if isinstance(one.targets[0], ast.Tuple)]
    return {name for names in several if names & used for name in names - used if name.isidentifier()}


def _is_made_of(call: ast.Call, function: Reading) -> bool:
    return function.scope.dotted(path_of(call.func) or "").startswith("torch.distributions.")


def _stored(node: ast.Assign | ast.AugAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {path_of(part) or "" for target in targets for part in below(target)}


# A list that others see


def _is_shared(function: Reading, keeper: str, name: str) -> bool:
    if "." not in keeper and not keeper.endswith("]"):
        return False
    return (
        name.isidentifier()
        and _is_always_detached(name, function.file, _DEEP)
        and not _is_read_beside(name, function.file)
    )


@lru_cache(maxsize=8)  # the lists of one file
def _is_always_detached(name: str, file: File, deep: int) -> bool:
    """Whether whatever reads the list takes the graphs off: torch.stack(memory.logprobs).detach()."""
    program = file.program
    whole = Reading(program.tree, (), program.roots.module, file)
    places = [whole, *(Reading(one.node, (), one.scope, file) for one in program.roots.functions)]
    found = [(node, where) for where in places for node in _mentions(where, name)]
    reads = [(node, where) for node, where in found if not _only_keeps(node, where)]
    return bool(deep and reads) and all(_is_cut(node, where, deep) for node, where in reads)


def _mentions(where: Reading, name: str) -> Iterator[ast.expr]:
    for node in where.of(ast.Attribute):
        if node.attr == name and isinstance(node.ctx, ast.Load):
            yield node
    for item in where.of(ast.Subscript):
        if isinstance(item.slice, ast.Constant) and item.slice.value == name and isinstance(item.ctx, ast.Load):
            yield item


def _only_keeps(node: ast.expr, where: Reading) -> bool:
    """memory.logprobs.append(x), del memory.logprobs[:], memory.logprobs.clear(), if not memory.logprobs"""
    parents = parents_of(where.node)
    around = parents.get(node)
    if isinstance(around, ast.Attribute):
        return around.attr in _KEEPING and isinstance(parents.get(around), ast.Call)
    if isinstance(around, ast.Subscript) and isinstance(around.ctx, ast.Del):
        return True
    if isinstance(around, ast.Call) and path_of(around.func) == "len":
        return True
    return isinstance(around, ast.Delete | ast.If) or (
        isinstance(around, ast.UnaryOp) and isinstance(around.op, ast.Not)
    )


def _is_cut(node: ast.expr, where: Reading, deep: int) -> bool:
    match parents_of(where.node).get(node):
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=into), attr="extend"), args=[given]) if given is node:
            return _is_always_detached(into, where.file, deep - 1) and not _is_read_beside(into, where.file)
    return becomes_number(where, node)


def _is_read_beside(name: str, file: File) -> bool:
    """Whether a file beside this one reads what may be this very list: of some object, or as its own if it knows this
    file."""
    texts = file.beside
    if texts is None:
        return True
    stem = re.escape(os.path.splitext(os.path.basename(file.path))[0])
    read = re.compile(rf"(\w*)(?:\.{name}\b(?! *=[^=]|\.(?:append|clear)\()|\[['\"]{name}['\"]\])")
    for text in texts:
        owners = {found[1] for found in read.finditer(text)} if name in text else set()
        if owners - {"self"} or (owners and re.search(rf"\b{stem}\b", text)):
            return True
    return False


# A list of a function's own


def _is_own(function: Reading, name: str, node: ast.AST) -> bool:
    """Whether a function fills an empty list in a loop, and takes the graphs off wherever it reads it."""
    names, scope = definitions_of(function), function.scope
    if function.loop_around(node) is None or name in scope.parameters or not scope.owns(name):
        return False
    begun = [one for one in names.every(name) if not one.adds and is_empty_list(one.value)]
    reads = [
        one
        for one in function.of(ast.Name)
        if one.id == name and isinstance(one.ctx, ast.Load) and not _only_keeps(one, function)
        if _is_list(function, one, begun)
    ]
    inner = [one for one in below(function.node) if isinstance(one, ast.Name) and one.id == name]
    seen = len(inner) == sum(one.id == name for one in function.of(ast.Name))  # in no function inside
    return bool(begun and reads) and seen and all(becomes_number(function, one) for one in reads)


def _is_list(function: Reading, use: ast.Name, begun: list[Definition]) -> bool:
    """Whether a name may still stand for the list: not behind logs = torch.stack(logs).detach()."""
    reached = definitions_of(function).reaching(use.id, use)
    made = [*reached.here, *(() if reached.certain else reached.around)] if reached is not None else []
    return not made or any(one.adds or one in begun for one in made)


# Who acts


def _is_quiet(function: Reading) -> bool:
    """Whether somebody acts under no_grad(): here, or in a file beside that names the function."""
    name, texts = getattr(function.node, "name", ""), function.file.beside
    named = re.compile(rf"\.{re.escape(name)}\(")
    elsewhere = texts is None or any(wording.looks_away(text) and named.search(text) for text in texts)
    return elsewhere or acts_quietly(function, _DEEP)
