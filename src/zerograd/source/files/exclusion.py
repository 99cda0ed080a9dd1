"""What is left out of a walk: the paths that a pattern names, and what git ignores."""

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zerograd.source.files.gitignore import Ignores

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
        return self._names.match(os.path.basename(path)) or (bool(self._paths) and self._paths.match(self.below(path)))

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

    def drops(self, path: str, *, folder: bool = False, git: bool = True) -> bool:
        """For a path in a folder that is not dropped."""
        return self._patterns.match(path) or (git and self.ignores(path, folder=folder))

    def ignores(self, path: str, *, folder: bool = False) -> bool:
        if not self._git:
            return False
        if self._ignores is None:
            from zerograd.source.files.gitignore import Ignores  # not for files that are named

            self._ignores = Ignores()
        absolute = os.path.normpath(os.path.join(self._patterns.here, path))
        return self._ignores.ignores(absolute, folder=folder)

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
