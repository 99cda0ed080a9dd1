"""What git would ignore, without asking git: .gitignore files, nested, and .git/info/exclude.

The last pattern that matches decides; below a folder that is ignored nothing can be taken back. Neighbouring patterns
of one kind are joined into one expression, because a walk asks about every file and folder it meets.
"""

import os
import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


class _Pattern(NamedTuple):
    """One line of a .gitignore, as an expression for paths below its folder."""

    regex: str
    takes_back: bool  # it began with !
    for_folders: bool  # it ended with /


class _Run(NamedTuple):
    """Neighbouring patterns that all ignore, or all take back."""

    takes_back: bool
    files: re.Pattern[str] | None
    folders: re.Pattern[str]


class Ignored:
    """The patterns of one file, for the paths below the folder it stands in."""

    def __init__(self, text: str) -> None:
        patterns = [pattern for line in text.split("\n") if (pattern := _pattern(line.removesuffix("\r")))]
        self._runs = [_run(takes_back, list(run)) for takes_back, run in groupby(patterns, lambda one: one.takes_back)]
        self._runs.reverse()

    def says(self, path: str, *, folder: bool) -> bool | None:
        """Whether a path, with / and relative to the file's folder, is ignored; None: no pattern is about it."""
        for run in self._runs:
            regex = run.folders if folder else run.files
            if regex is not None and regex.fullmatch(path):
                return not run.takes_back
        return None


def _run(takes_back: bool, patterns: list[_Pattern]) -> _Run:
    files = [pattern.regex for pattern in patterns if not pattern.for_folders]
    folders = [pattern.regex for pattern in patterns]
    return _Run(takes_back, re.compile("|".join(files), re.S) if files else None, re.compile("|".join(folders), re.S))


class IgnoredIn(NamedTuple):
    """What is ignored in one folder: by these, nearest first, each with the way from its folder to this one."""

    patterns: tuple[tuple[Ignored, str], ...]
    whole: bool = False

    def has(self, name: str, *, folder: bool) -> bool:
        """The nearest that says anything is right; below a folder that is ignored all is."""
        if self.whole:
            return True
        for known, way in self.patterns:
            told = known.says(way + name, folder=folder)
            if told is not None:
                return told
        return False


class Ignores:
    """Every .gitignore between the root of a repository and what is asked about. Files are read once."""

    def __init__(self) -> None:
        self._files: dict[str, Ignored | None] = {}
        self._roots: dict[str, str | None] = {}
        self._folders: dict[str, IgnoredIn | None] = {}

    def ignores(self, path: str, *, folder: bool = False) -> bool:
        """Whether a path, absolute and normal, or a folder it lies in, is ignored. Outside of a repository: no."""
        above, name = os.path.split(path)
        inside = self.inside(above)
        return inside is not None and inside.has(name, folder=folder)

    def inside(self, folder: str) -> "IgnoredIn | None":
        """What is ignored in a folder; None outside of a repository."""
        if folder not in self._folders:
            root = self._root(folder)
            self._folders[folder] = self._inside(folder, root) if root is not None else None
        return self._folders[folder]

    def _inside(self, folder: str, root: str) -> "IgnoredIn":
        own = self._read(os.path.join(folder, ".gitignore"))
        if folder == root:
            shared = self._read(os.path.join(root, ".git", "info", "exclude"))
            return IgnoredIn(tuple((known, "") for known in (own, shared) if known is not None))
        above, name = os.path.split(folder)
        outer = self.inside(above)
        assert outer is not None  # of the same repository
        around = tuple((known, f"{way}{name}/") for known, way in outer.patterns)
        return IgnoredIn(((own, ""), *around) if own is not None else around, outer.has(name, folder=True))

    def _root(self, folder: str) -> str | None:
        """The top of the repository that a folder belongs to."""
        if folder not in self._roots:
            above = os.path.dirname(folder)
            if os.path.exists(os.path.join(folder, ".git")):
                self._roots[folder] = folder
            else:
                self._roots[folder] = self._root(above) if above != folder else None
        return self._roots[folder]

    def _read(self, path: str) -> Ignored | None:
        if path not in self._files:
            try:
                with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
                    self._files[path] = Ignored(file.read())
            except OSError:
                self._files[path] = None
        return self._files[path]


def _pattern(line: str) -> _Pattern | None:
    if line.startswith("#"):
        return None
    takes_back = line.startswith("!")
    line = _without_trailing_spaces(line.removeprefix("!") if takes_back else line)
    for_folders = line.endswith("/")
    line = line.removesuffix("/")
    if not line:
        return None
    anchored = "/" in line
    regex = _translate(line.removeprefix("/"), paths=anchored)
    if regex is None:
        return None
    return _Pattern(regex if anchored else f"(?:.*/)?{regex}", takes_back, for_folders)


def _without_trailing_spaces(line: str) -> str:
    kept = line.rstrip(" ")
    slashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if slashes % 2 and len(kept) < len(line) else kept


def _translate(glob: str, *, paths: bool) -> str | None:
    """A regular expression for a pattern; None for one that can match nothing. `paths`: ** may stand for folders."""
    parts: list[str] = []
    plain = len(re.split(r"[*?\[\\]", glob, maxsplit=1)[0])
    at = 0
    while at < len(glob):
        character = glob[at]
        if character == "*":
            stars = len(glob[at:]) - len(glob[at:].lstrip("*"))
            # git compares what stands before the first wildcard apart, and then takes the wildcard for the beginning.
            begins = at == plain or glob[at - 1] == "/"
            at += stars
            if not (paths and stars > 1 and begins and re.compile(r"\\?/|$").match(glob, at)):
                parts.append("[^/]*")
            elif glob[at : at + 1] == "/":  # no folder, or several
                parts.append("(?:.*/)?")
                at += 1
            else:
                parts.append(".*")
        elif character == "?":
            parts.append("[^/]")
            at += 1
        elif character == "[":
            bracket = _bracket(glob, at)
            if bracket is None:
                return None
            regex, at = bracket
            parts.append(regex)
        else:
            if character == "\\":
                at += 1
                if at == len(glob):
                    return None
            parts.append(re.escape(glob[at]))
            at += 1
    return "".join(parts)


def _bracket(glob: str, at: int) -> tuple[str, int] | None:
    """The expression for a bracket that opens at `at`, and where it ends; None if it does not close."""
    at += 1
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    members: list[str] = []
    first = True
    while at < len(glob):
        if glob[at] == "]" and not first:
            return _set(members, negated), at + 1
        first = False
        named = re.compile(r"\[:(\w*):\]").match(glob, at)
        if named is not None:
            if named[1] not in _CLASSES:
                return None
            members.append(_CLASSES[named[1]])
            at = named.end()
            continue
        low, at = _member(glob, at)
        high = low
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(glob, at + 1)
        if not low or not high:
            return None
        if low <= high:
            members.append(f"{re.escape(low)}-{re.escape(high)}")
    return None


def _member(glob: str, at: int) -> tuple[str, int]:
    if glob[at] == "\\":
        at += 1
    return glob[at : at + 1], at + 1


def _set(members: Iterable[str], negated: bool) -> str:
    inside = "".join(members)
    if negated:
        return f"[^/{inside}]"
    return f"(?!/)[{inside}]" if inside else "(?!)"
