"""Writing a file back as it was: its encoding, its byte order mark, its line ends."""

from zerograd.errors import SourceError
from zerograd.source.files.discover import MARK, encoding_of


class File:
    """A file that may be rewritten. Raises SourceError if its bytes cannot be had back from its text."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                raw = file.read()
            self._encoding = encoding_of(raw)
            text = raw.decode(self._encoding)
            same = text.encode(self._encoding) == raw
        except OSError as error:
            raise SourceError(f"{path}: cannot be read: {error.strerror}", slug="unreadable-file") from None
        except (UnicodeError, LookupError):
            same, text = False, ""
        if not same:
            raise SourceError(f"{path}: cannot be fixed: its encoding does not give its bytes back", slug="cannot-fix")
        self._mark = MARK if text.startswith(MARK) else ""
        self.text = text.removeprefix(MARK)

    def write(self, text: str) -> None:
        try:
            with open(self.path, "wb") as file:
                file.write((self._mark + text).encode(self._encoding))
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be written: {error.strerror}", slug="cannot-fix") from None
