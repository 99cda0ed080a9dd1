"""Where the gradients of a probe go: into the slot of whoever trains the module that was probed.

A probe is judged from outside: the function that calls it, deposits its own loss on top and steps. What the callee says
of its modules is told in the caller's names; where that fails, or parameters are frozen on the way, nothing is said.
"""

import ast
from collections.abc import Iterator
from itertools import islice

from zerograd.core.events import Kind, Site
from zerograd.source.lowering.program import Program
from zerograd.source.lowering.skeleton import Act, Block, Call, walk
from zerograd.source.names.probes import freezes_parameters
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.paths import path_of

_DEPTH = 4
_MOST = 500  # acts: beyond that a block is a tangle, and nothing is said of it
_TURNS = (Kind.DEPOSIT, Kind.CONSUME)
_Modules = frozenset[str]
_NONE: frozenset[Site] = frozenset()


class Leaks:
    """Those of one program's functions, and of what they call."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._probes: dict[tuple[Function, Scope | None, int], bool] = {}
        self._read: dict[Function, tuple[bool, list[Call]]] = {}

    def into(
        self, modules: _Modules, block: Block, function: ast.AST | None, cls: Scope | None, *, alone: bool
    ) -> frozenset[Site]:
        """The probes that a block runs and that leave gradients in `modules`, those of the slot it steps.

        Of an optimizer that was handed over nobody says what it holds: alone with the one model that is trained and
        probed, it holds that.
        """
        if function is None or not self._any(_calls_in(block), cls, 0) or freezes_parameters(function):
            return _NONE
        found = self._in_order(block, cls)
        if not modules and alone and found:
            modules = self._trained(function, cls)
        return frozenset(
            site for site, probed in found.items() if any(_overlaps(one, other) for one in probed for other in modules)
        )

    def _trained(self, function: ast.AST, cls: Scope | None) -> _Modules:
        """What a function, or its class, calls and tells to train: model(x), model.train()."""
        methods = [method.node for one in cls.lineage() for method in one.functions.values()] if cls is not None else []
        own = {path_of(call.func) or "" for call in self._program.nodes(function).of(ast.Call)}
        nodes = [node for node in methods if node is not function]
        theirs = {path_of(call.func) or "" for node in nodes for call in self._program.nodes(node).of(ast.Call)}
        called = own | {path for path in theirs if path.startswith("self.")}
        return frozenset(path for path in called if f"{path}.train" in called)

    def _in_order(self, block: Block, cls: Scope | None) -> dict[Site, _Modules]:
        """Each probe with its modules as the block names them, if the block's objective is deposited on top of it."""
        acts = list(islice(self._linear(block, cls, 0), _MOST + 1))
        found: dict[Site, _Modules] = {}
        pending: dict[Site, _Modules] = {}
        for act, names in acts * 2 if len(acts) <= _MOST else ():  # what comes last may be what the next epoch finds
            if act.kind is Kind.CONSUME:
                pending = {} if names else pending  # the attack may step an optimizer of its own, over its input
            elif not act.probes:
                found, pending = {**found, **pending}, {}
            else:
                before = pending.get(act.site, found.get(act.site, names))
                pending[act.site] = names & before
        return found

    def _any(self, calls: list[Call], cls: Scope | None, depth: int) -> bool:
        return any(self._has(call.on(cls), depth) for call in calls)

    def _has(self, call: Call, depth: int) -> bool:
        """Whether a called function probes, or calls one that does, with nothing frozen."""
        key = (call.function, call.cls, depth)
        if key not in self._probes:
            self._probes[key] = False
            probes, calls = self._inside(call.function) if depth < _DEPTH else (False, [])
            found = probes or self._any(calls, call.cls, depth + 1)
            self._probes[key] = found and not freezes_parameters(call.function.node)
        return self._probes[key]

    def _inside(self, function: Function) -> tuple[bool, list[Call]]:
        """Whether a function probes, and what it calls: read once, from however deep it is called."""
        if function not in self._read:
            block = self._program.body_of(function)
            probes = any(isinstance(act, Act) and act.probes for act in walk(block))
            self._read[function] = probes, _calls_in(block)
        return self._read[function]

    def _linear(self, block: Block, cls: Scope | None, depth: int) -> Iterator[tuple[Act, _Modules]]:
        """Deposits with their modules, steps with their slots, in text order, as the outermost function names them."""
        for node in walk(block):
            if isinstance(node, Act) and node.kind in _TURNS and (depth or not node.probes):
                yield node, node.reaches if node.slot is None else frozenset({node.slot})
            elif isinstance(node, Call) and depth < _DEPTH:
                call = node.on(cls)
                for act, names in self._linear(self._program.body_of(call.function), call.cls, depth + 1):
                    yield act, frozenset(path for inner in names if (path := call.outside(inner)) is not None)


def _calls_in(block: Block) -> list[Call]:
    return [node for node in walk(block) if isinstance(node, Call)]


def _overlaps(one: str, other: str) -> bool:
    """Whether one module is the other, or inside it."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
