"""How many rows fit into memory, as far as split() knows.

Memory that somebody else took for a moment may be free again: after some batches that fitted, one of twice the size is
tried. Each time that it does not fit, twice as many have to fit before the next try, so that a limit which stays costs
next to nothing.
"""

_FIRST = 2  # batches that fit before a larger one is tried
_MOST = 1024


class Fitted:
    def __init__(self, size: int | None = None) -> None:
        self.size = size  # None: no batch has been too large yet
        self._fits = 0  # in a row, at this size
        self._patience = _FIRST
        self._tried: int | None = None  # a larger size, and nobody knows yet whether it fits

    def next_size(self, rows: int) -> int:
        """What to try for a batch of so many rows."""
        if self.size is None or rows <= self.size:
            return rows
        if self._fits < self._patience:
            return self.size
        self._tried = min(rows, 2 * self.size)
        return self._tried

    def failed(self, size: int) -> None:
        """So many rows did not fit."""
        if size == self._tried:
            self._patience = min(2 * self._patience, _MOST)
        self._tried, self._fits = None, 0

    def succeeded(self, size: int, rows: int) -> None:
        """A batch of `rows` fitted in parts of `size`."""
        if self._tried == size:
            self._tried, self._fits = None, 0
            self.size = size
        elif size < rows:
            self._fits += 1
            self.size = size
