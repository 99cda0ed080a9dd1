"""The files of a project that have to do with one another: whoever imports a file, or is imported, over any number of
steps. What a file says about its settings is for these."""

import os
import re

from zerograd.errors import SourceError
from zerograd.source.files.beside import text_of
from zerograd.source.files.discover import NOTEBOOK
from zerograd.source.text.patterns import pattern

_MOST = 400  # files
_HIGHEST = 4  # folders to go up
_MARK = pattern(r"\.git$|setup\.py$|pyproject\.toml$|requirements.*\.txt$|(readme|licen[cs]e)\b", re.IGNORECASE)
_READ = (".py", NOTEBOOK)
_IMPORT = pattern(r"^[ \t\"]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([^#\n]*)|import[ \t]+([^#\n]*))", re.MULTILINE)
_WORD = pattern(r"\w+")
_NOT_OURS = frozenset({"node_modules", "site-packages", "__pycache__", "venv", "env", "build"})


def kin_of(path: str, asked: set[str]) -> dict[str, str] | None:
    """The other files, with their texts; None where they cannot all be known. `asked` is told what was looked at."""
    if not os.path.isfile(path):
        return {}  # a text alone
    files = _around(path, asked)
    if files is None:
        return None
    try:
        texts = {file: text_of(file) for file in files}
    except (SourceError, OSError):
        return None
    asked.update(files)
    return _connected(os.path.normpath(path), texts)


def _around(path: str, asked: set[str]) -> list[str] | None:
    """The Python files of the project, and those that lie in the folder above it."""
    top = _top(os.path.dirname(path) or ".")
    above = top if _is_here(top) else os.path.normpath(os.path.join(top, os.pardir))
    files = _listed(above, _names(above)) if above != top else []
    asked.add(above)
    for root, folders, names in os.walk(top):
        asked.add(os.path.normpath(root))
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_OURS)
        files += _listed(root, names)
        if len(files) > _MOST:
            return None
    return files


def _top(folder: str) -> str:
    """The folder that a project begins with, by what lies only there; that of the file, if no such thing is near."""
    here = folder
    for _ in range(_HIGHEST):
        if any(_MARK.match(name) for name in _names(here)):
            return here
        if _is_here(here):
            break
        here = os.path.normpath(os.path.join(here, os.pardir))
    return folder


def _is_here(folder: str) -> bool:
    """Whether it is the working directory: nobody is asked what lies above that."""
    return os.path.abspath(folder) == os.getcwd()


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _listed(folder: str, names: list[str]) -> list[str]:
    return [os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name.endswith(_READ)]


def _connected(path: str, texts: dict[str, str]) -> dict[str, str]:
    imports = {file: imported(text) for file, text in texts.items()}
    found, pending = {path}, [path]
    while pending:
        one = pending.pop()
        for other in texts.keys() - found:
            if _stem(other) in imports.get(one, ()) or _stem(one) in imports[other]:
                found.add(other)
                pending.append(other)
    return {file: texts[file] for file in sorted(found - {path})}


def imported(text: str) -> set[str]:
    """Every word of what a text imports: any of them may be a module's name."""
    return {word for parts in _IMPORT.findall(text) for part in parts for word in _WORD.findall(part)}


def _stem(path: str) -> str:
    """The name that a file is imported by: of a package that of its folder."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    return os.path.basename(folder) if stem == "__init__" else stem
