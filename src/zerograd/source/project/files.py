"""Where an import leads, and who calls a function from another file. Nothing is executed here."""

import ast
import os
from typing import NamedTuple

from zerograd.errors import SourceError
from zerograd.source.project.index import Assigned, Class, File, Function, Imported
from zerograd.source.text.parsing import parse

_LARGEST = 400_000  # bytes of a file that is looked into for what others import of it
_MANY = 1_500  # files that are searched for callers
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

    def open(self, path: str, text: str) -> File:
        """A file whose text is at hand. Raises SourceError if it is not Python."""
        known = self._files.get(os.path.abspath(path))
        if known is not None and known.text == text:
            return known
        file = self._files[os.path.abspath(path)] = File(path, text, parse(text, path))
        return file

    def load(self, path: str) -> File | None:
        """A file of the disk, or None if it cannot be read."""
        whole = os.path.abspath(path)
        if whole not in self._files:
            self._files[whole] = None
            try:
                if os.path.getsize(whole) < _LARGEST:
                    with open(whole, encoding="utf-8", errors="replace") as stream:
                        text = stream.read()
                    self._files[whole] = File(path, text, parse(text, path))
            except (OSError, SourceError, ValueError, RecursionError):
                pass
        return self._files[whole]

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
        parts = [part for part in module.lstrip(".").split(".") if part]
        for folder in self._folders(file, len(module) - len(module.lstrip("."))):
            stem = os.path.join(folder, *parts)
            candidates = [os.path.join(stem, "__init__.py")] + ([stem + ".py"] if parts else [])
            target = next((path for path in candidates if os.path.isfile(path)), None)
            if target is not None:
                return self._within(target, stem, name)
            if name and os.path.isfile(os.path.join(stem, name + ".py")):
                return self.load(os.path.join(stem, name + ".py"))
        return None

    def _within(self, target: str, stem: str, name: str) -> Definition | None:
        other = self.load(target)
        if other is None or not name:
            return other
        found = self.definition(other, name)
        if found is None and os.path.isfile(os.path.join(stem, name + ".py")):
            return self.load(os.path.join(stem, name + ".py"))
        return found

    def _folders(self, file: File, level: int) -> list[str]:
        """Where a module is looked for: beside the file, and in every folder above it up to the root."""
        here = os.path.dirname(os.path.abspath(file.path))
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

    def is_named(self, attribute: str, file: File) -> bool:
        """Whether another file names this attribute."""
        if not self._root:
            return False
        mine, word = os.path.abspath(file.path), f".{attribute}"
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
            for folder, folders, names in os.walk(self._root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(names):
                    if name.endswith(".py") and len(self._texts) < _MANY:
                        path = os.path.join(folder, name)
                        try:
                            with open(path, encoding="utf-8", errors="replace") as stream:
                                self._texts[path] = stream.read()
                        except OSError:
                            continue
        return self._texts


def qualified(entry: Imported) -> str:
    """The qualified name of something imported."""
    module = entry.module.lstrip(".")
    return f"{module}.{entry.name}" if module and entry.name else module or entry.name
