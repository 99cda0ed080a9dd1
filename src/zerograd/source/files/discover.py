"""Which files a check reads, and their text."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from io import FileIO

from zerograd.errors import SourceError, missing
from zerograd.source.files.exclusion import Exclusion

NOTEBOOK = ".ipynb"
_READ = (".py", NOTEBOOK)
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
STDIN = "-"
MARK = "\ufeff"  # the byte order mark, decoded


def python_files(paths: Sequence[str], exclusion: Exclusion | None = None, *, force: bool = False) -> Iterator[str]:
    """Every Python file and notebook named or below a named folder, sorted. Named ones are read, unless `force`."""
    exclusion = exclusion or Exclusion()
    for path in paths:
        if path != STDIN and not os.path.exists(path):  # pipes and devices do
            raise missing("file or folder", path, slug="unknown-path")
        if force and path != STDIN and exclusion.drops_named(path):
            continue
        if os.path.isdir(path):
            yield from _below(path, exclusion)
        else:
            yield path


def _below(folder: str, exclusion: Exclusion) -> Iterator[str]:
    # Whoever names a folder that git ignores wants to see what is in it.
    git = not exclusion.ignores(os.path.normpath(folder), folder=True)
    for root, folders, files in os.walk(folder):
        here = os.path.normpath(root)
        before = "" if here == os.curdir else os.path.join(here, "")
        inside = exclusion.inside(here, git=git)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not inside.drops(name, folder=True)
        )
        for name in sorted(name for name in files if name.endswith(_READ)):
            if not inside.drops(name):
                yield before + name


def read_text(path: str) -> str:
    """The text of a file, by its coding cookie if it has one. Raises SourceError if there is none to be had."""
    try:
        if path == STDIN:
            raw = sys.stdin.buffer.read()
        else:
            with FileIO(path) as file:  # thousands of files: no buffer is needed to read one whole
                raw = file.readall()
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
    second = raw.find(b"\n", raw.find(b"\n") + 1)  # the end of the second line, if there are as many
    head = raw if second < 0 else raw[:second]
    if b"coding" not in head:
        return "utf-8"
    cookie = next((match for line in head.split(b"\n")[:2] if (match := _COOKIE.match(line))), None)
    return cookie[1].decode("ascii", "replace") if cookie else "utf-8"
