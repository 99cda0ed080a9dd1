"""What is left out of a walk: the paths that a pattern names, and what git ignores."""

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerograd.source.files.gitignore import IgnoredIn, Ignores

EXCLUDED = ("__pycache__", "node_modules", "site-packages", "venv", "build", "dist")  # others' folders, and made ones


class Patterns:
    """Globs for names (`vendor`, `*_pb2.py`) or, with a slash, for paths from a root, the folder of the config file.

    A star crosses folders. Paths are asked about as they were named: from the working directory, or absolute.
    """

    def __init__(self, globs: Sequence[str], root: str = "") -> None:
        self.here = os.getcwd()
        self.root = root or self.here
        normal = [os.path.normpath(glob) for glob in globs]
        self._paths = _Globs(self.below(glob) if os.path.isabs(glob) else glob for glob in normal if os.sep in glob)
        self._names = _Globs(glob for glob in normal if os.sep not in glob)

    def match(self, path: str) -> bool:
        return self.match_in(*os.path.split(path))

    def match_in(self, folder: str, name: str) -> bool:
        if self._names.match(name):
            return True
        return bool(self._paths) and self._paths.match(self.below(os.path.join(folder, name)))

    def below(self, path: str) -> str:
        """The path from the root."""
        if self.root == self.here and not os.path.isabs(path):
            return os.path.normpath(path)
        return os.path.relpath(os.path.join(self.here, path), self.root)


class Exclusion:
    def __init__(self, patterns: Sequence[str] = EXCLUDED, *, root: str = "", git: bool = True) -> None:
        self._patterns = Patterns(patterns, root)
        self._git = git
        self._ignores: Ignores | None = None

    def inside(self, folder: str, *, git: bool = True) -> "Inside":
        """For what lies in a folder that is not dropped: a walk asks for many names in one place."""
        known = self._ignored() if git else None
        return Inside(folder, self._patterns, known.inside(self._absolute(folder)) if known is not None else None)

    def drops(self, path: str, *, folder: bool = False) -> bool:
        """For a path in a folder that is not dropped."""
        return self._patterns.match(path) or self.ignores(path, folder=folder)

    def ignores(self, path: str, *, folder: bool = False) -> bool:
        known = self._ignored()
        return known is not None and known.ignores(self._absolute(path), folder=folder)

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._patterns.here, path))

    def _ignored(self) -> "Ignores | None":
        if self._git and self._ignores is None:
            from zerograd.source.files.gitignore import Ignores  # not for files that are named

            self._ignores = Ignores()
        return self._ignores

    def drops_named(self, path: str) -> bool:
        """For a path that was named: any of the folders around it may be one that is dropped."""
        parts = self._patterns.below(path).split(os.sep)
        around = [os.path.join(self._patterns.root, *parts[:count]) for count in range(1, len(parts))]
        hidden = any(part.startswith(".") and part not in (".", "..") for part in parts[:-1])
        return (
            hidden
            or any(self.drops(folder, folder=True) for folder in around)
            or self.drops(path, folder=os.path.isdir(path))
        )


class Inside:
    """What is left out of one folder."""

    def __init__(self, folder: str, patterns: Patterns, ignored: "IgnoredIn | None") -> None:
        self._folder = folder
        self._patterns = patterns
        self._ignored = ignored

    def drops(self, name: str, *, folder: bool = False) -> bool:
        if self._patterns.match_in(self._folder, name):
            return True
        return self._ignored is not None and self._ignored.has(name, folder=folder)


class _Globs:
    def __init__(self, globs: Iterable[str]) -> None:
        several = sorted(globs)
        self._plain = {glob for glob in several if not set(glob) & set("*?[")}
        wild = [glob for glob in several if glob not in self._plain]
        self._wild = _joined(wild) if wild else None

    def __bool__(self) -> bool:
        return bool(self._plain) or self._wild is not None

    def match(self, text: str) -> bool:
        return text in self._plain or (self._wild is not None and self._wild.match(text) is not None)


def _joined(globs: Sequence[str]) -> re.Pattern[str]:
    from fnmatch import translate  # the usual exclusions are plain names

    return re.compile("|".join(map(translate, globs)))
