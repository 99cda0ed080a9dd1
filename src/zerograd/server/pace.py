"""When a text that is being typed is judged: at once after a pause, and then not before the hands rest.

So a single change is answered as fast as it can be, and a burst of them costs two checks and not one for each key.
"""

import asyncio
from collections.abc import Callable

REST = 0.15  # seconds


class Pace:
    def __init__(self, judge: Callable[[str], None]) -> None:
        self._judge = judge
        self._resting: dict[str, asyncio.TimerHandle] = {}
        self._waiting: set[str] = set()

    def touch(self, uri: str) -> None:
        """A text has changed."""
        if uri in self._resting:
            self._resting.pop(uri).cancel()
            self._waiting.add(uri)
            self._rest(uri)
        else:
            self._judge(uri)
            self._rest(uri)  # counted from the answer, so that a slow check does not fill the time

    def forget(self, uri: str) -> None:
        """A text is closed, or was judged for another reason."""
        if (timer := self._resting.pop(uri, None)) is not None:
            timer.cancel()
        self._waiting.discard(uri)

    def _rest(self, uri: str) -> None:
        self._resting[uri] = asyncio.get_running_loop().call_later(REST, self._rested, uri)

    def _rested(self, uri: str) -> None:
        del self._resting[uri]
        if uri in self._waiting:
            self._waiting.discard(uri)
            self._judge(uri)
