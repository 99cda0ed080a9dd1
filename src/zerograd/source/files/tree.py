"""The Python files of a project, in one order: so many of them, and none of those that were installed into it."""

import os

EVERY_FILE = os.path.join("**", "*.py")  # stands for all of them, behind the folder's name
_MOST = 1_500
_INSTALLED = frozenset({"site-packages", "node_modules", "__pycache__"})


def python_files_below(folder: str) -> list[str]:
    """Those of outer folders first; hidden folders are left out, and what lies behind a link."""
    found: list[str] = []
    pending = [folder]
    while pending and len(found) < _MOST:
        inner: list[str] = []
        for place in pending:
            files, folders = _listed(place)
            found += files
            inner += folders
        pending = inner
    return found[:_MOST]


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """The Python files and the folders in one folder."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return [], []
    files = [one.path for one in listed if one.name.endswith(".py") and one.is_file()]
    folders = [one.path for one in listed if one.is_dir(follow_symlinks=False) and _is_ours(one.name)]
    return files, folders


def _is_ours(name: str) -> bool:
    return not name.startswith(".") and name not in _INSTALLED
