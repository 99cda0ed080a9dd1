"""The files beside one: what a class leaves undone, whoever uses it may do there."""

import os
from functools import lru_cache

from zerograd.errors import SourceError
from zerograd.source.files.discover import NOTEBOOK, read_text

_MOST = 400  # files
_LONGEST = 5000  # characters of a line that somebody wrote: a picture is one line of a million


def texts_beside(path: str, asked: set[str]) -> list[str] | None:
    """The texts of the other Python files in its folder and the one above; None where they cannot all be known.

    `asked` is told what was looked at, so that known findings are given up when it changes.
    """
    if not os.path.isfile(path):
        return []  # a text alone
    folders, files = _neighbours(path)
    asked.update(folders)
    if len(files) > _MOST:
        return None
    asked.update(files)
    try:
        return [text_of(file) for file in files]
    except (SourceError, OSError):
        return None


def text_of(path: str) -> str:
    known = os.stat(path)
    return _written(path, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=_MOST)  # the files of one folder ask for each other, one after the other
def _written(path: str, changed: int, size: int) -> str:
    """What is written in a file: of a notebook, not what it has drawn."""
    text = read_text(path)
    if not path.endswith(NOTEBOOK):
        return text
    return "\n".join(line for line in text.split("\n") if len(line) < _LONGEST)


def _neighbours(path: str) -> tuple[list[str], list[str]]:
    """Its folder and the one above, and the other Python files in them."""
    folder = os.path.dirname(path)
    folders = [folder, os.path.dirname(folder) or "."] if folder else ["."]
    files: list[str] = []
    for place in folders:
        try:
            names = sorted(os.listdir(place))
        except OSError:
            continue
        files += [os.path.normpath(os.path.join(place, name)) for name in names if name.endswith((".py", NOTEBOOK))]
    return folders, [other for other in files if other != os.path.normpath(path)]
