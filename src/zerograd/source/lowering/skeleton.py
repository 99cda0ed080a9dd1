"""What is left of a function once all that does not touch gradients is taken away.

Detectors walk this where order is what they ask for, so their cost follows the number of events, not lines.
"""

import ast
from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.facts import Doubts
from zerograd.source.counting.counters import Guard
from zerograd.source.names.scopes import Function, Scope

Block = tuple["Node", ...]


class Act(NamedTuple):
    """One event in the text. `slot` is an optimizer's path; None: whichever slots there are."""

    kind: Kind
    slot: str | None
    site: Site
    what: str
    scaled: bool = False
    node: ast.AST | None = None  # where the text says more than the event does
    partial: bool = False  # it may reach some parameters only


class Create(NamedTuple):
    """An optimizer is made and bound to `slot`: what follows starts from an empty slot."""

    slot: str
    inside: bool = False  # a new object: it brings the optimizer, and here nobody may ever ask for it


class Blur(NamedTuple):
    """A call that may do events of these `kinds` to `slot` (None: to any), and that cannot be read here."""

    kinds: Doubts
    slot: str | None = None
    site: Site | None = None
    what: str = ""


class Call(NamedTuple):
    """A call of a function of this project: its skeleton runs here, with its parameters standing for `arguments`."""

    function: Function
    caller: Scope
    arguments: tuple[tuple[str, str], ...]
    shares_self: bool
    cls: Scope | None = None  # of a method: the class of the object it is called on
    site: Site | None = None

    def on(self, cls: Scope | None) -> "Call":
        """The same call where `self` is known to be of class `cls`: an override runs instead of what it overrides."""
        if cls is None or cls is self.cls or not self.shares_self:
            return self
        other = cls.method(self.function.node.name)
        if other is None or other is self.function:
            return self._replace(cls=cls)
        renamed = dict(zip(self.function.scope.parameters, other.scope.parameters, strict=False))
        arguments = tuple((renamed.get(parameter, parameter), path) for parameter, path in self.arguments)
        return self._replace(function=other, arguments=arguments, cls=cls)

    def outside(self, path: str) -> str | None:
        """What the caller calls the slot that the callee knows as `path`; None if it has no name there."""
        root = path.partition(".")[0].partition("[")[0]
        for parameter, given in reversed(self.arguments):  # what an object was given comes last, and says most
            if path == parameter or path.startswith((f"{parameter}.", f"{parameter}[")):
                return given + path[len(parameter) :]
        if root == "self":
            return path if self.shares_self else None
        return path if self._same_module and not self.function.scope.owns(root) else None

    @property
    def _same_module(self) -> bool:
        return self.function.scope.module is self.caller.module


class Choice(NamedTuple):
    body: Block
    orelse: Block
    guard: Guard | None = None  # a question about a counter
    site: Site | None = None


class Forget(NamedTuple):
    """Something these tests ask about has changed."""

    keys: frozenset[str]


class Loop(NamedTuple):
    body: Block
    orelse: Block = ()
    endless: bool = False  # `while True`: left by break or return alone
    each: frozenset[str] = frozenset()  # `for opt in opts`: to the slot opts[*] this loop is one pass of its body
    node: ast.AST | None = None
    windows: tuple[str, ...] = ()  # the sizes N of the windows that this loop's counters cut
    site: Site | None = None


class Attempt(NamedTuple):
    """try: an exception may leave `body` after any of its events."""

    body: Block
    handlers: tuple[Block, ...] = ()
    orelse: Block = ()
    final: Block = ()


class Jump(NamedTuple):
    """`to` is one of break, continue, return, raise."""

    to: str


FORKS = (Choice, Loop)  # they have a body and another
_HOLDERS = frozenset({Choice, Loop, Attempt})
Node = Act | Create | Blur | Call | Choice | Forget | Loop | Attempt | Jump


def walk(block: Block) -> list[Node]:
    """Every node of a block and of the blocks inside it, in text order. Calls are not entered."""
    found: list[Node] = []
    for node in block:  # asked for by everybody: a generator for each block inside would cost twice as much
        found.append(node)
        if node.__class__ not in _HOLDERS:
            continue
        if isinstance(node, FORKS):
            found += walk(node.body)
            if node.orelse:
                found += walk(node.orelse)
        else:
            for part in blocks_of(node):
                found += walk(part)
    return found


def blocks_of(node: Node) -> tuple[Block, ...]:
    """The blocks directly inside a node."""
    if isinstance(node, FORKS):
        return node.body, node.orelse
    return (node.body, *node.handlers, node.orelse, node.final) if isinstance(node, Attempt) else ()


def leaves(block: Block) -> bool:
    """Whether a block always ends by jumping away."""
    return bool(block) and isinstance(block[-1], Jump)


def going_on(block: Block) -> Block:
    """The block with `return` as the way to the next call."""
    changed: list[Node] = []
    for node in block:
        match node:
            case Jump("return"):
                changed.append(Jump("continue"))
            case Choice(body, orelse):
                changed.append(node._replace(body=going_on(body), orelse=going_on(orelse)))
            case _:
                changed.append(node)
    return tuple(changed)
