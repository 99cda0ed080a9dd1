"""One `with`: its blocks, what they have done that cannot be taken back, and the way out that is always taken.

[Note: one decision] Everything a block does can be taken back, until its optimizers step; from then on nothing can. So
there is one `Move`, and how a block has ended is read off it and off nothing else: not begun, nothing has moved; made,
everything has. Whatever raises, wherever: `commit.finish` looks at the move and brings the rest to the same end.

[Note: the way out] No `try` can protect the entrance of __exit__: Ctrl-C may strike when it is called, before its first
line. But Python asks for __exit__ when a `with` begins, keeps what it was given, and drops it when the with is over,
however that came about. So each with gets an exit of its own, and when that exit is dropped its transaction is over.
"""

import threading
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

    __slots__ = ("_acts", "_all", "_left", "_made", "ending")

    def __init__(self, ending: Ending, acts: Sequence[Callable[[], object]]) -> None:
        self.ending = ending  # if it is made
        self._acts = len(acts)
        self._all: Sequence[Callable[[], object]] = acts
        self._left = iter(acts)
        self._made: list[object] = []

    def make(self) -> None:
        self._made.extend(map(call, self._left))
        self._all = ()  # they know graphs, and functions of the user's

    @property
    def stopped_at(self) -> Callable[[], object] | None:
        """The act that raised, if one has."""
        return self._all[len(self._made)] if self.begun and not self.made else None

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
    blocks: "tuple[Block, ...]" = ()

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


class WayOut:
    """`__exit__ = WayOut(left)`: each `with` is given an exit of its own, which calls `_exit`.

    When that is dropped, `left` is called with the transaction of the `with`. See [Note: the way out].
    """

    def __init__(self, left: Callable[[Transaction, object], None]) -> None:
        self._left = left
        self._of_class = threading.local()

    def __get__(self, thing: Any, kind: Any) -> Callable[..., bool]:
        transaction = Transaction()
        if thing is None:  # contextlib.ExitStack asks the class, and calls __enter__ next
            way = partial(kind._exit)
            self._of_class.begins = transaction
        else:
            way = partial(kind._exit, thing)
            thing._begins = transaction
        transaction.watch = ref(way, partial(self._left, transaction))
        return way

    def asked_of_the_class(self) -> Transaction:
        """The one whose exit this thread has asked the class for, if it has; else somebody calls __enter__ by hand."""
        return vars(self._of_class).pop("begins", None) or Transaction()
