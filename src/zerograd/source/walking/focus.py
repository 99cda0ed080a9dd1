"""A skeleton with what some laws ask for, and nothing else.

What is too tangled to be walked whole can often be walked law by law: a schedule has little to do with a clear. Left
out are the events of other kinds, and with them the questions that lead to none of those left, unless an answer is of
use where some do. Each question that is left out halves the ways.

A branch that may only cast doubt casts it on whoever goes round it, too: what is left of it are its doubts.
"""

from collections.abc import Iterator

from zerograd.core.facts import Doubts
from zerograd.source.counting.tests import questions_in
from zerograd.source.lowering.skeleton import (
    RAISED,
    Act,
    Attempt,
    Block,
    Blur,
    Call,
    Choice,
    Create,
    Forget,
    Jump,
    Loop,
    Node,
    walk,
)
from zerograd.source.names.scopes import Function
from zerograd.source.text.patterns import pattern
from zerograd.source.walking.frames import BodyOf

_PATH = pattern(r"(?!(?:is|in|not|and|or|None|True|False)\b)[A-Za-z_][\w.]*")


class Focus:
    """`kinds`: of the events that are left; `body_of` gives the skeletons of the functions that are called."""

    def __init__(self, block: Block, kinds: Doubts, body_of: BodyOf) -> None:
        self._kinds, self._body_of = kinds, body_of
        self._blocks: dict[int, tuple[Block, Block]] = {}  # what is known of a block is known by its identity
        self._does: dict[Function, bool] = {}
        self._words = frozenset(self._asked(block, set()))
        self.block = self._pruned(block)

    def body_of(self, function: Function) -> Block:
        return self._pruned(self._body_of(function))

    def _asked(self, block: Block, entered: set[Function]) -> Iterator[str]:
        """The words of all questions on whose answer something hangs."""
        for node in walk(block):
            if isinstance(node, Choice) and self._decides(node):
                yield from (word for key in questions_in(node.test) for word in _PATH.findall(key))
            elif isinstance(node, Call) and node.function not in entered:
                entered.add(node.function)
                yield from self._asked(self._body_of(node.function), entered)

    def _decides(self, choice: Choice) -> bool:
        """Whether anything is done to a slot in one of its arms, or one leads away; but for a mere refusal."""
        refuses = choice.body == RAISED and not choice.orelse
        return not refuses and any(map(self._is_done, walk((*choice.body, *choice.orelse))))

    def _is_done(self, node: Node) -> bool:
        if isinstance(node, Call):
            if node.function not in self._does:
                self._does[node.function] = True  # until it is known: two that call each other
                self._does[node.function] = any(map(self._is_done, walk(self._body_of(node.function))))
            return self._does[node.function]
        return isinstance(node, Create | Jump) or (isinstance(node, Act) and node.kind in self._kinds)

    def _pruned(self, block: Block) -> Block:
        known = self._blocks.get(id(block))
        if known is None:
            left = tuple(part for node in block for part in self._left(node))
            known = self._blocks[id(block)] = block, left
        return known[1]

    def _left(self, node: Node) -> Iterator[Node]:
        match node:
            case Act(kind=kind):
                yield from (node,) if kind in self._kinds else ()
            case Blur(kinds=kinds):
                yield from (node._replace(kinds=kinds & self._kinds),) if kinds & self._kinds else ()
            case Forget(keys, learned):
                yield Forget(keys, frozenset(one for one in learned if self._is_of_use(one[0])))
            case Choice(body, orelse):
                yield from self._choice(node, self._pruned(body), self._pruned(orelse))
            case Loop(body, orelse):
                yield node._replace(body=self._pruned(body), orelse=self._pruned(orelse))
            case Attempt(body, handlers, orelse, final):
                parts = tuple(map(self._pruned, handlers)), self._pruned(orelse), self._pruned(final)
                yield Attempt(self._pruned(body), *parts, node.catches_all)
            case _:
                yield node

    def _choice(self, node: Choice, body: Block, orelse: Block) -> Iterator[Node]:
        if self._decides(node):
            yield node._replace(body=body, orelse=orelse)
            return
        inner = walk((*body, *orelse))
        if any(self._is_of_use(key) for one in inner if isinstance(one, Forget) for key in one.keys):
            yield node._replace(body=body, orelse=orelse, test=node.test if self._is_asked(node) else None)
            return
        # What may be done is taken for what is done: whoever goes round it is in doubt as well.
        yield from (one for one in inner if isinstance(one, Blur | Call | Forget))

    def _is_asked(self, node: Choice) -> bool:
        return any(map(self._is_of_use, questions_in(node.test)))

    def _is_of_use(self, key: str) -> bool:
        return not self._words.isdisjoint(_PATH.findall(key))
