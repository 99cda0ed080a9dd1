"""A function with what it calls put in its place: the counter in one method, the backward and the step in others.

for i, batch in enumerate(loader):
    self.train_step(batch)              # loss.backward()
    if (i + 1) % self.accumulate == 0:
        self.update()                   # optimizer.step(), optimizer.zero_grad()
"""

import ast
from collections.abc import Callable, Iterator

from zerograd.core.events import Kind
from zerograd.source.counting.losses import Losses
from zerograd.source.lowering.skeleton import Act, Attempt, Block, Call, Choice, Jump, Loop, Node, walk
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import Nodes

BodyOf = Callable[[Function], Block]

_DEPTH = 3
_FUNCTIONS = 30  # that are looked into
_MOST = 400  # nodes: a function that calls half the project has no one loop to be judged


class Unfolded:
    """`block`: the skeleton with its calls in place. Each loss is read where it is made."""

    def __init__(
        self, block: Block, cls: Scope | None, body_of: BodyOf, nodes_of: Callable[[ast.AST], Nodes] = Nodes
    ) -> None:
        self._body_of, self._nodes_of = body_of, nodes_of
        self._homes: dict[int, Function] = {}  # of the deposits that are called
        self._losses: dict[ast.AST, Losses] = {}
        self._left = _MOST
        self._whole: set[int] = set()  # the bodies of functions
        self.may_leave = False  # whether a function that is called may end early: what is behind it need not run
        self.block = self._unfold(block, cls, ())

    def losses(self, act: Act, own: Losses) -> Losses:
        """What is known of the losses of the function that deposits."""
        home = self._homes.get(id(act.node))
        if home is None:
            return own
        if home.node not in self._losses:
            self._losses[home.node] = Losses(self._nodes_of(home.node), home.scope)
        return self._losses[home.node]

    def _unfold(self, block: Block, cls: Scope | None, path: tuple[Call, ...]) -> Block:
        nodes: list[Node] = []
        for position, node in enumerate(block):
            self._left -= 1
            if self._left < 0:
                break
            match node:
                case Act() if path:
                    nodes += self._outside(node, path)
                case Call() if len(path) < _DEPTH:
                    call = node.on(cls)
                    if all(call.function is not outer.function for outer in path):
                        body = self._body_of(call.function)
                        self._whole.add(id(body))
                        nodes += self._unfold(body, call.cls, (*path, call))
                case Choice(body, orelse) | Loop(body, orelse):
                    inner = self._unfold(body, cls, path), self._unfold(orelse, cls, path)
                    nodes.append(node._replace(body=inner[0], orelse=inner[1]))
                case Attempt():
                    nodes.append(node._replace(body=self._unfold(node.body, cls, path)))
                case Jump("return") if path:  # the caller goes on
                    self.may_leave |= position < len(block) - 1 or id(block) not in self._whole
                case _:
                    nodes.append(node)
        return tuple(nodes)

    def _outside(self, act: Act, path: tuple[Call, ...]) -> list[Act]:
        """An event of a function that is called, with its slot as the outermost names it; none for one it cannot."""
        slot = act.slot
        for call in reversed(path):
            slot = call.outside(slot) if slot is not None else None
        if act.slot is not None and slot is None:
            return []
        if act.node is not None:
            self._homes[id(act.node)] = path[-1].function
        return [act._replace(slot=slot)]


def everything(block: Block, body_of: BodyOf) -> Iterator[Node]:
    """What happens in a block and in what it calls, each function once."""
    called: set[Function] = set()
    pending = [block]
    while pending:
        for node in walk(pending.pop()):
            yield node
            if isinstance(node, Call) and node.function not in called and len(called) < _FUNCTIONS:
                called.add(node.function)
                pending.append(body_of(node.function))


def waits_for_others(block: Block) -> bool:
    """Whether a loop asks a counter, and calls what it does not show: the backward, or the step."""
    nodes = walk(block)
    if not any(isinstance(node, Choice) and node.guard is not None for node in nodes):
        return False
    for loop in (node for node in nodes if isinstance(node, Loop)):
        inside = walk(loop.body)
        guards = [node.guard for node in inside if isinstance(node, Choice)]
        if any(guard is not None and guard.loop is loop.node for guard in guards):
            kinds = {act.kind for act in inside if isinstance(act, Act)}
            called = any(isinstance(node, Call) for node in inside)
            if called and not kinds >= {Kind.DEPOSIT, Kind.CONSUME}:
                return True
    return False
