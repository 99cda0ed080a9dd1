"""What is left of a function once all that does not touch gradients is taken away.

The interpreter (flow.py) walks this and never sees Python again, so its cost follows the number of events, not lines.
"""

from typing import NamedTuple

from zerograd.core.events import Kind, Site
from zerograd.core.facts import Doubts

Block = tuple["Node", ...]


class Act(NamedTuple):
    """One event in the text. `slot` is an optimizer's path; None: whichever slots there are."""

    kind: Kind
    slot: str | None
    site: Site
    what: str
    scaled: bool = False


class Create(NamedTuple):
    """An optimizer is made and bound to `slot`: what follows starts from an empty slot."""

    slot: str


class Blur(NamedTuple):
    """A call that may do events of these `kinds` to `slot` (None: to any), and that cannot be read here."""

    kinds: Doubts
    slot: str | None = None


class Choice(NamedTuple):
    body: Block
    orelse: Block


class Loop(NamedTuple):
    body: Block
    orelse: Block = ()
    endless: bool = False  # `while True`: left by break or return alone
    each: str | None = None  # `for opt in opts`: to the slot opts[*] this loop is one pass of its body


class Attempt(NamedTuple):
    """try: an exception may leave `body` after any of its events."""

    body: Block
    handlers: tuple[Block, ...] = ()
    orelse: Block = ()
    final: Block = ()
    catches_all: bool = False  # some handler takes every exception


class Jump(NamedTuple):
    """`to` is one of break, continue, return, raise."""

    to: str


Node = Act | Create | Blur | Choice | Loop | Attempt | Jump


def acts(block: Block) -> "list[Act | Create | Blur]":
    """Every event of a block, in text order."""
    found: list[Act | Create | Blur] = []
    for node in block:
        match node:
            case Act() | Create() | Blur():
                found.append(node)
            case Choice(body, orelse) | Loop(body, orelse):
                found += acts(body) + acts(orelse)
            case Attempt(body, handlers, orelse, final):
                for part in (body, *handlers, orelse, final):
                    found += acts(part)
    return found


def leaves(block: Block) -> bool:
    """Whether a block always ends by jumping away."""
    return bool(block) and isinstance(block[-1], Jump)
