"""Which values are the same: equal numbers are the same run-time value on one path.

Identities are interned, so that they are compared, hashed and kept in sets as integers; what one is made of is known,
so that answers about a value can be forgotten when it is computed anew.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple


class Identity(NamedTuple):
    """An identity among other parts of a description, where plain numbers stand as well."""

    id: int


class Identities:
    def __init__(self) -> None:
        self._known: dict[tuple[Hashable, ...], int] = {}
        self._made_of: list[tuple[int, ...]] = []
        self._names: list[tuple[Hashable, ...]] = []
        self._parts: dict[int, frozenset[int]] = {}

    def of(self, *what: Hashable, made_of: tuple[int, ...] = ()) -> int:
        """The identity of what is described so. `made_of`: the identities of the values that it is computed from."""
        key = (*what, made_of)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self._made_of)
            self._made_of.append(made_of)
            self._names.append(what)
        return known

    def described(self, identity: int) -> tuple[Hashable, ...]:
        """What an identity stands for, and what that is computed from."""
        return (*self._names[identity], *[Identity(part) for part in self._made_of[identity]])

    def moved(self, identity: int, move: Callable[[Hashable, tuple[int, ...]], Hashable]) -> int:
        """What an identity is where other things stand for those that it is described by."""
        made_of = self._made_of[identity]
        what = [move(part, made_of) for part in self._names[identity]]
        return self.of(*what, made_of=tuple([move(part, made_of) for part in made_of]))  # type: ignore[misc]

    def is_length(self, identity: int) -> bool:
        """Whether this is how many things something has, and no number that was told."""
        return self._names[identity][:1] == ("length",)  # not a name: of an identity

    def field(self, identity: int) -> str:
        """The name of the field that this was read from, if it was."""
        *_, last = self._names[identity]
        was_read = self._names[identity][0] in ("given", "field")  # not a name: of an identity
        return last if isinstance(last, str) and was_read else ""

    def parts(self, identity: int) -> frozenset[int]:
        """A value and all that it is computed from."""
        known = self._parts.get(identity)
        if known is None:
            found = {identity}
            for part in self._made_of[identity]:
                found |= self.parts(part)
            known = self._parts[identity] = frozenset(found)
        return known
