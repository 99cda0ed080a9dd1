"""Names and fields, as one table with a log of writes.

[Note: write logs] A branch does not copy the table. It opens a level, writes, and takes its changes away again; where
paths meet, only what one of them has changed is visited.
"""

from collections.abc import Hashable

from zerograd.source.heap.values import Value

Key = tuple[Hashable, Hashable]  # (a frame or an object, a name or an index)
Changes = dict[Key, Value | None]  # None: not bound


Reads = dict[Key, Value | int | None]
COUNT = "number of fields"  # the pseudo-field under which it is recorded that all fields of an owner were read


class Store:
    def __init__(self) -> None:
        self._values: dict[Key, Value] = {}
        self._levels: list[Changes] = [{}]  # of each level: what its keys held when it was opened
        self.reads: Reads | None = None  # while somebody records them: what was read, as it was first read
        self._fields: dict[Hashable, dict[Hashable, None]] = {}  # what was ever written of each owner, in order

    def get(self, key: Key) -> Value | None:
        value = self._values.get(key)
        if self.reads is not None and key not in self.reads:
            self.reads[key] = value
        return value

    def holds(self, reads: Reads) -> bool:
        """Whether all that was read then would be read now."""
        values = self._values
        for key, then in reads.items():
            if key[1] is COUNT:
                if len(self._fields.get(key[0], ())) != then:
                    return False
                continue
            now = values.get(key)
            if now is not then and now != then:
                return False
        return True

    def put(self, key: Key, value: Value) -> None:
        old = self._values.get(key)
        if old is value:
            return
        level = self._levels[-1]
        if key not in level:
            level[key] = old
        if old is None:
            self._fields.setdefault(key[0], {})[key[1]] = None
        self._values[key] = value

    def drop(self, key: Key) -> None:
        old = self._values.pop(key, None)
        if old is not None:
            self._levels[-1].setdefault(key, old)

    def fields(self, owner: Hashable) -> list[tuple[Key, Value]]:
        """What an object or a frame holds now, in the order in which its fields were first written."""
        known = self._fields.get(owner)
        if self.reads is not None:
            self.reads.setdefault((owner, COUNT), len(known or ()))
        if not known:
            return []
        found = [((owner, name), self.get((owner, name))) for name in known]
        return [(key, value) for key, value in found if value is not None]

    @property
    def depth(self) -> int:
        return len(self._levels)

    def open(self) -> int:
        """A new level; its number is told to `changes` and `close`."""
        self._levels.append({})
        return len(self._levels) - 1

    def changes(self, level: int) -> Changes:
        """What has changed since a level was opened, as it is now."""
        values = self._values
        if level == len(self._levels) - 1:
            return {key: values.get(key) for key in self._levels[level]}
        return {key: values.get(key) for one in self._levels[level:] for key in one}

    def undo(self, level: int) -> None:
        """Back to where the table stood when the level was opened."""
        values = self._values
        while len(self._levels) > level:
            for key, old in self._levels.pop().items():
                if old is None:
                    values.pop(key, None)
                else:
                    values[key] = old

    def commit(self, level: int) -> None:
        """What was written since the level was opened belongs to the level below it."""
        levels = self._levels
        while len(levels) > level:
            above = levels.pop()
            if 3 * len(above) < len(levels[-1]):
                for key, old in above.items():
                    levels[-1].setdefault(key, old)
            elif above:
                levels[-1] = above | levels[-1]  # what it held first counts

    def apply(self, changes: Changes) -> None:
        for key, value in changes.items():
            if value is None:
                self.drop(key)
            else:
                self.put(key, value)
