"""A terminal in memory: what a person would have seen, scrolled away or not."""

import pyte


class Terminal:
    def __init__(self, rows: int, columns: int) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=100_000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)

    def feed(self, text: str | bytes) -> None:
        self._stream.feed(text.encode() if isinstance(text, str) else text)

    def interrupt(self, text: str) -> None:
        """Write as the launcher does, between two writes of the program. [Note: the last row] names what is lost."""
        column = self.screen.cursor.x
        self.feed(text)
        if column == self.screen.columns:
            self.screen.cursor.x = column  # pyte forgets it as some terminals do: xterm does not

    def transcript(self) -> list[str]:
        """Every line, from the first one ever printed to the last that is not blank."""
        columns = range(self.screen.columns)
        above = ["".join(line[column].data for column in columns) for line in self.screen.history.top]
        lines = [line.rstrip() for line in (*above, *self.screen.display)]
        while lines and not lines[-1]:
            lines.pop()
        return lines
