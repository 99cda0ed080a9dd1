"""Which files a check reads, and their text."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch

from zerograd.errors import SourceError, missing

_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"})
NOTEBOOK = ".ipynb"
_READ = (".py", NOTEBOOK)
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
STDIN = "-"
MARK = "\ufeff"  # the byte order mark, decoded


def python_files(paths: Sequence[str], *, exclude: Sequence[str] = ()) -> Iterator[str]:
    """Every Python file and notebook named or below a named folder, sorted. A file named by the user is always read."""
    for path in paths:
        if os.path.isdir(path):
            yield from _below(path, exclude)
        elif path == STDIN or os.path.exists(path):  # pipes and devices too
            yield path
        else:
            raise missing("file or folder", path, slug="unknown-path")


def _below(folder: str, exclude: Sequence[str]) -> Iterator[str]:
    for root, folders, files in os.walk(folder):
        here = os.path.normpath(root)
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED and not name.startswith(".") and not _excluded(os.path.join(here, name), exclude)
        )
        for name in sorted(files):
            path = os.path.normpath(os.path.join(here, name))
            if name.endswith(_READ) and not _excluded(path, exclude):
                yield path


def _excluded(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(path, pattern) or fnmatch(os.path.basename(path), pattern) for pattern in patterns)


def read_text(path: str) -> str:
    """The text of a file, by its coding cookie if it has one. Raises SourceError if there is none to be had."""
    try:
        if path == STDIN:
            raw = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                raw = file.read()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror}", slug="unreadable-file") from None
    encoding = encoding_of(raw)
    try:
        text = raw.decode(encoding)
    except (UnicodeError, LookupError):  # the codec "undefined" raises no UnicodeDecodeError
        raise SourceError(f"{path}: is not {encoding} text", slug="unreadable-file") from None
    return text.removeprefix(MARK)


def encoding_of(raw: bytes) -> str:
    """The encoding that a file declares."""
    cookie = next((match for line in raw.split(b"\n", 2)[:2] if (match := _COOKIE.match(line))), None)
    return cookie[1].decode("ascii", "replace") if cookie else "utf-8"
