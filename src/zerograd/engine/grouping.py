"""Cutting a stream of micro-batches into the groups that make one step each."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from zerograd.errors import StepError

T = TypeVar("T")


def groups(iterable: Iterable[T], n: int) -> Iterator[list[T]]:
    """Lists of `n` items; the last one may be shorter. Step weighs it right all the same.

    >>> list(groups("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    if n < 1:
        raise StepError(f"groups of {n} cannot be made", cure="A group has at least one micro-batch.", slug="groups")
    return _groups(iter(iterable), n)


def _groups(items: Iterator[T], n: int) -> Iterator[list[T]]:
    while group := list(islice(items, n)):
        yield group
