"""Where an import leads, and who calls a function from another file. Nothing is executed here.

[Note: what an answer depends on] Findings of a file depend on the files that it imports, on those that it looked for in
vain, and, where somebody asked who else calls a function or names a field, on every file of the project.
"""

import ast
import os
import re
from collections.abc import Hashable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from zerograd.core.findings import Finding
from zerograd.errors import SourceError
from zerograd.source.files.tree import EVERY_FILE, python_files_below
from zerograd.source.project.index import Assigned, Class, File, Function, Imported
from zerograd.source.text.imports import imports_of
from zerograd.source.text.parsing import parse
from zerograd.source.text.suppression import allows

_LARGEST = 400_000  # bytes of a file that is looked into for what others import of it
_MOST = 400  # files kept in memory
_NEAREST = 8  # files with a call of that name that are opened


class External(NamedTuple):
    """Something that cannot be read here, by its qualified name."""

    name: str


Definition = Function | Class | File | Assigned | External


class Caller(NamedTuple):
    file: File
    function: Function | None  # None: the body of the file


class Project:
    """The files below a root, opened as they are asked for. Without a root, no other file is read."""

    def __init__(self, root: str = "") -> None:
        self._root = os.path.abspath(root) if root else ""
        self._files: dict[str, File | None] = {}
        self._found: dict[tuple[str, str, str], Definition | None] = {}
        self._texts: dict[str, str] | None = None
        self._acting: dict[tuple[File, frozenset[str]], set[Function]] = {}
        self._named: dict[str, dict[frozenset[str], bool]] = {}  # by file, whether its text names one of these
        self.outcomes: dict[Hashable, Any] = {}  # of what was executed of these files, until one of them changes
        self._asked: dict[str, set[str]] = {}  # by file, the files that were looked for on its behalf
        self._asked_of_all: set[str] = set()  # the files on whose behalf every file was looked at

    def open(self, path: str, text: str) -> File:
        """A file whose text is at hand. Raises SourceError if it is not Python."""
        whole = os.path.abspath(path)
        known = self._files.get(whole)
        if known is not None and known.text == text:
            return known
        if len(self._files) >= _MOST:  # only here: a file that is being checked still needs those it imports
            self._files.clear()
            self._forget()
        file = File(path, text, parse(text, path))
        if whole in self._files:
            self._forget()  # what others import of it is defined anew
        self._named.pop(whole, None)
        self._files[whole] = file
        if self._texts is not None and whole in self._texts:
            self._texts[whole] = file.text
        return file

    def _forget(self) -> None:
        self._found.clear()
        self._acting.clear()
        self.outcomes.clear()

    def files(self) -> list[File]:
        """Every file that was parsed."""
        return [file for file in self._files.values() if file is not None]

    def allows(self, finding: Finding) -> bool:
        """Whether a comment allows a finding in a file that was read on the way."""
        file = self._files.get(os.path.abspath(finding.site.path))
        return file is not None and allows(file.text, finding)

    def looked_for(self, path: str) -> set[str]:
        """Every file that the findings of a file depend on, whether it exists or not."""
        found: set[str] = set()
        pending = [os.path.abspath(path)]
        while pending:
            asking = pending.pop()
            if asking in self._asked_of_all:
                found.add(os.path.join(self._root, EVERY_FILE))
            for other in self._asked.get(asking, ()):
                if other not in found:
                    found.add(other)
                    pending.append(other)
        return found

    def load(self, path: str) -> File | None:
        """A file of the disk, or None if it cannot be read."""
        whole = os.path.abspath(path)
        if whole not in self._files:
            self._files[whole] = None
            with suppress(OSError, SourceError, ValueError, RecursionError):
                if os.path.getsize(whole) < _LARGEST:
                    text, shown = self._text(whole), _shown(whole)
                    self._files[whole] = File(shown, text, parse(text, shown))
        return self._files[whole]

    def _text(self, path: str) -> str:
        """What stands in a file, whether or not it can be parsed. Raises OSError."""
        known = self._files.get(path)
        if known is not None:
            return known.text
        if self._texts is not None and path in self._texts:
            return self._texts[path]
        return _read(path)

    def imported_texts(self, path: str, text: str) -> Iterator[str]:
        """The texts of the project's files that a text imports, told by its lines alone: nothing is parsed."""
        if not self._root:
            return
        for module, name in imports_of(text):
            target = self._target(path, module, name)
            with suppress(OSError):
                if target:
                    yield self._text(target)

    def acting(self, file: File, names: frozenset[str]) -> set[Function]:
        """The functions of a file that name one of these, or call one of the project that does: in the file, or in one
        that it imports."""
        key = (file, names)
        known = self._acting.get(key)
        if known is None:
            self._acting[key] = set()  # in a cycle of imports, this one is still to come
            known = self._acting[key] = file.acting(names, self._acting_elsewhere(file, names))
        return known

    def _acting_elsewhere(self, file: File, names: frozenset[str]) -> set[str]:
        """The names under which a file may call functions of other files that act."""
        found: set[str] = set()
        for bound, entry in file.definitions.items() if self._root else ():
            if not isinstance(entry, Imported):
                continue
            target = self._target(file.path, entry.module, entry.name)
            if not target or not self._names_any(target, names):
                continue  # most files: they need not be parsed to know that
            definition = self.definition(file, bound)
            if isinstance(definition, Function):
                found |= {bound} if definition in self.acting(definition.file, names) else set()
            elif isinstance(definition, (Class, File)):
                other = definition if isinstance(definition, File) else definition.file
                found |= {one.name for one in self.acting(other, names)}
                found |= {bound} if isinstance(definition, Class) else set()
        return found

    def _names_any(self, path: str, names: frozenset[str]) -> bool:
        """Whether the text of a file has one of these behind a dot."""
        known = self._named.setdefault(path, {})
        if names not in known:
            known[names] = False
            with suppress(OSError):
                known[names] = _behind_dots(names).search(self._text(path)) is not None
        return known[names]

    def definition(self, file: File, name: str) -> Definition | None:
        """What a name of a file's top level means; None if the file does not bind it."""
        entry = file.definitions.get(name)
        if entry is None:
            for module in file.stars:
                found = self.imported(file, module, name)
                if found is not None:
                    return found
            return None
        if isinstance(entry, Imported):
            found = self.imported(file, entry.module, entry.name)
            return found if found is not None else External(qualified(entry))
        return entry

    def imported(self, file: File, module: str, name: str) -> Definition | None:
        """What `from module import name` brings into a file; None for what lies outside the project."""
        key = (file.path, module, name)
        if key not in self._found:
            self._found[key] = None  # a cycle of imports finds nothing
            self._found[key] = self._look_up(file, module, name)
        return self._found[key]

    def _look_up(self, file: File, module: str, name: str) -> Definition | None:
        if not self._root:
            return None
        _, target = self._module(file.path, module, name)
        other = self.load(target) if target else None
        if other is not None and name:
            found = self.definition(other, name)
            if found is not None:
                return found
        elif other is not None:
            return other
        inner = self._target(file.path, module, name)
        return self.load(inner) if inner and inner != target else None

    def _target(self, path: str, module: str, name: str) -> str:
        """The file that `from module import name` in the file of this path leads to; "" for what lies outside."""
        stem, target = self._module(path, module, name)
        inner = os.path.join(stem, name + ".py") if stem and name else ""
        if inner and (not target or target.endswith("__init__.py")) and self._exists(inner, path):
            return inner
        return target

    def _module(self, path: str, module: str, name: str) -> tuple[str, str]:
        """Where a module lies that has this name in it: as a folder, and as a file. Either may be nothing."""
        parts = [part for part in module.lstrip(".").split(".") if part]
        level = len(module) - len(module.lstrip("."))
        for folder in self._folders(path, level):
            if not level and parts and self._is_inside(path, folder, parts[0]):
                continue
            stem = os.path.join(folder, *parts)
            candidates = [os.path.join(stem, "__init__.py")] + ([stem + ".py"] if parts else [])
            target = next((one for one in candidates if self._exists(one, path)), "")
            if target or (name and self._exists(os.path.join(stem, name + ".py"), path)):
                return stem, target
        return "", ""

    def _is_inside(self, path: str, package: str, name: str) -> bool:
        """Whether a file lies in a part of a package that has this name: from inside, it is called by its whole name.

        `import torch` in mine/torch/loop.py brings torch.
        """
        part = os.path.join(package, name) + os.sep
        return os.path.abspath(path).startswith(part) and self._exists(os.path.join(package, "__init__.py"), path)

    def _exists(self, path: str, importing: str) -> bool:
        self._asked.setdefault(os.path.abspath(importing), set()).add(path)
        return os.path.isfile(path)

    def _folders(self, path: str, level: int) -> list[str]:
        """Where a module is looked for: beside the file, and in every folder above it up to the root."""
        here = os.path.dirname(os.path.abspath(path))
        if level:
            for _ in range(level - 1):
                here = os.path.dirname(here)
            return [here]
        folders = [here]
        while len(here) > len(self._root) and here != os.path.dirname(here):
            here = os.path.dirname(here)
            folders.append(here)
        return folders

    def callers(self, function: Function) -> list[Caller]:
        """Those who call a function of the top level from other files, the nearest files first."""
        mine = os.path.abspath(function.file.path)
        found: list[Caller] = []
        if not self._root:
            return found
        self._asked_of_all.add(mine)
        paths = [path for path, text in self._all_texts().items() if f"{function.name}(" in text and path != mine]
        paths.sort(key=lambda path: (-len(os.path.commonpath([path, mine])), path))
        for path in paths[:_NEAREST]:
            other = self.load(path)
            if other is None or function.name not in other.called:
                continue
            for caller in (*other.functions, None):
                if function.name in (other.called if caller is None else caller.called) and self._calls(
                    other, caller.node if caller is not None else other.tree, function
                ):
                    found.append(Caller(other, caller))
                    break
            if len(found) > 1:
                break
        return found

    def classes_defining(self, method: str, file: File) -> Iterator[Class]:
        """The classes of other files that define a method of this name, the nearest files first."""
        mine, word = os.path.abspath(file.path), f"def {method}("
        if not self._root:
            return
        self._asked_of_all.add(mine)
        paths = [path for path, text in self._all_texts().items() if word in text and path != mine]
        paths.sort(key=lambda path: (-len(os.path.commonpath([path, mine])), path))
        for path in paths[:_NEAREST]:
            other = self.load(path)
            yield from (one for one in (other.classes if other is not None else ()) if method in one.methods)

    def is_named(self, attribute: str, file: File) -> bool:
        """Whether another file names this attribute."""
        if not self._root:
            return False
        mine, word = os.path.abspath(file.path), f".{attribute}"
        self._asked_of_all.add(mine)
        return any(word in text for path, text in self._all_texts().items() if path != mine)

    def _calls(self, file: File, node: ast.AST, function: Function) -> bool:
        for call in ast.walk(node):
            if not isinstance(call, ast.Call):
                continue
            called = call.func
            if isinstance(called, ast.Name) and self.definition(file, called.id) is function:
                return True
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                module = self.definition(file, called.value.id)
                if isinstance(module, File) and self.definition(module, called.attr) is function:
                    return True
        return False

    def _all_texts(self) -> dict[str, str]:
        if self._texts is None:
            self._texts = {}
            for path in python_files_below(self._root):
                known = self._files.get(path)
                try:
                    self._texts[path] = known.text if known is not None else _read(path)
                except OSError:
                    continue
        return self._texts


@lru_cache(maxsize=8)
def _behind_dots(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"\.(?:{'|'.join(sorted(map(re.escape, names)))})")


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()


def _shown(path: str) -> str:
    """The path that findings name: from the working directory, for a file below it."""
    short = os.path.relpath(path)
    return path if short.startswith(os.pardir) else short


def qualified(entry: Imported) -> str:
    """The qualified name of something imported."""
    module = entry.module.lstrip(".")
    return f"{module}.{entry.name}" if module and entry.name else module or entry.name
