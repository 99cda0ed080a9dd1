"""Cutting a stream of micro-batches into the groups that make one step each."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from zerograd.engine.supply import supply
from zerograd.errors import StepError

T = TypeVar("T")


def groups(iterable: Iterable[T], n: int, *, begun: int = 0) -> Iterator[list[T]]:
    """Lists of `n` items; the last one may be shorter. Step weighs it right all the same.

    `begun` of the first group are done already: a run that goes on in the middle says `begun=step.in_flight`.

    >>> list(groups("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    >>> list(groups("bcde", 2, begun=1))
    [['b'], ['c', 'd'], ['e']]
    """
    if not (_is_whole(n) and _is_whole(begun)) or n < 1 or not 0 <= begun <= n:
        raise StepError(
            f"groups of {n} with {begun} begun cannot be made",
            cure="Both are whole numbers: a group has at least one micro-batch, and no more than all of them are done.",
            slug="groups",
        )
    return _groups(iter(iterable), n, begun)


def _is_whole(number: object) -> bool:
    return hasattr(number, "__index__")


def _groups(items: Iterator[T], n: int, begun: int) -> Iterator[list[T]]:
    if begun:
        yield _group(items, n - begun)  # empty, if only the commit was missing
    while group := _group(items, n):
        yield group


def _group(items: Iterator[T], n: int) -> list[T]:
    """The next items. What a Cursor has handed out for each of them is noted: see [Note: known items]."""
    first, before = len(supply.items), len(supply.owners)
    group: list[T] = []
    until: list[int] = []
    for item in islice(items, n):
        group.append(item)
        until.append(len(supply.owners))
    if len(supply.owners) > before and not supply.overflowed:
        supply.regroup(first, group, until)
    return group
