"""One `with`: its blocks, what they have done that cannot be taken back, and the way out that is always taken.

[Note: one decision] Everything a block does can be taken back, until its optimizers step; from then on nothing can. So
there is one `Move`, and how a block has ended is read off it and off nothing else: not begun, nothing has moved; made,
everything has. Whatever raises, wherever: `commit.finish` looks at the move and brings the rest to the same end.

[Note: the way out] No `try` can protect the entrance of __exit__: Ctrl-C may strike when it is called, before its first
line. But Python asks for __exit__ when a `with` begins, keeps what it was given, and drops it when the with is over,
however that came about. So each with gets an exit of its own, and when that exit is dropped its transaction is over.
"""

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, call, length_hint
from typing import TYPE_CHECKING, Any
from weakref import ref

from zerograd.engine.outcome import Ending

if TYPE_CHECKING:
    from zerograd.engine.block import Block

open_blocks: list["Block"] = []  # and, for a moment, some that are over
_over, _restores_weights = attrgetter("over"), attrgetter("restores_weights")


class Move:
    """Acts that cannot be taken back, made as if they were one: optimizers, schedulers and scalers move.

    A loop written in C makes them and counts them: no line of ours lies between two of them, or between the last and
    the count, at which something could be raised. See [Note: one decision].
    """

    __slots__ = ("_acts", "_left", "_made", "ending")

    def __init__(self, ending: Ending, acts: Sequence[Callable[[], object]]) -> None:
        self.ending = ending  # if it is made
        self._acts = len(acts)
        self._left = iter(list(acts))
        self._made: list[object] = []

    def make(self) -> None:
        self._made.extend(map(call, self._left))

    @property
    def begun(self) -> bool:
        return length_hint(self._left) < self._acts

    @property
    def untouched(self) -> bool:
        """Whether none of the acts has come to its end."""
        return not self._made

    @property
    def made(self) -> bool:
        return len(self._made) == self._acts


class Transaction:
    """The blocks of one `with`, which end together."""

    move: Move | None = None
    aborted = False
    cause = "it was interrupted"  # why nothing has moved
    told = False  # the trace knows how it has ended
    watch: ref[Any] | None = None  # on the exit of the `with`, as long as there is something to finish

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    @classmethod
    def begun_by(cls, thing: Any, left: "Callable[[Transaction], None]") -> "Transaction":
        """Calls `left` when the `with` of `thing` that begins now is over. See [Note: the way out]."""
        made = cls()
        way = thing._way and thing._way()
        if way:  # else it is no `with`: somebody calls __enter__
            made.watch = ref(way, partial(_dropped, made, left))
        thing._way = None
        return made

    @property
    def over(self) -> bool:
        return all(map(_over, self.blocks))

    @property
    def restores_weights(self) -> bool:
        """Whether a move that was not made to its end can be taken back all the same."""
        return all(map(_restores_weights, self.blocks))

    @property
    def ending(self) -> Ending:
        """How it ends if it ends now. See [Note: one decision]."""
        move = self.move
        if move is not None and len(move._made) == move._acts:
            return move.ending
        if move is not None and move.begun and not self.restores_weights:
            return Ending.TORN
        return Ending.ABORTED if self.aborted else Ending.ROLLED_BACK


def _dropped(transaction: Transaction, left: Callable[[Transaction], None], way: object) -> None:
    left(transaction)


class WayOut:
    """`__exit__ = WayOut()`: each `with` is given an exit of its own, which calls `_exit`. See [Note: the way out]."""

    def __get__(self, thing: Any, kind: Any) -> Callable[..., bool]:
        if thing is None:  # contextlib.ExitStack asks the class
            way = partial(kind._exit)
            kind._way = ref(way)
        else:
            way = partial(kind._exit, thing)
            thing._way = ref(way)
        return way
