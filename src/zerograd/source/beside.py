"""The files beside one: what a class leaves undone, whoever uses it may do there."""

import os

from zerograd.errors import SourceError
from zerograd.source.discover import NOTEBOOK, read_text

_MOST = 400  # files


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
        return [read_text(file) for file in files]
    except SourceError:
        return None


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
