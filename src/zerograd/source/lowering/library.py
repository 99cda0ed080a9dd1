"""The other files of the project: what an imported name stands for.

A module is looked for as Python would find it: from the folder of the file that imports it, and from the folders above,
up to the working directory. It is read when a call in question leads there, parsed only if it names an event, and never
executed.
"""

import os
from collections.abc import Iterable

from zerograd.core.findings import Finding
from zerograd.errors import SourceError
from zerograd.source.files.discover import read_text
from zerograd.source.lowering.program import Program
from zerograd.source.names.scopes import Elsewhere, Function, Scope
from zerograd.source.project.files import Project
from zerograd.source.text.cutting import cuts
from zerograd.source.text.parsing import parse
from zerograd.source.text.patterns import pattern
from zerograd.source.text.suppression import allows

_EVENTS = ("backward(", "zero_grad", ".step(", "clip_grad", "unscale_")
_DIVISOR = "accumulation_steps"
_GRADIENT = pattern(r"\.grad\b")
_REEXPORTS = "__init__.py"
_MOST = 400  # programs kept in memory
_HIGHEST = 6  # folders to look in, from that of the file upwards


class Library:
    """The files that were opened so far, by path. `root` is where looking ends: the working directory."""

    def __init__(self, root: str = ".") -> None:
        self._root = os.path.normpath(root)
        self.project = Project(root)  # the same files, for the abstract run
        self._programs: dict[str, Program] = {}
        self._texts: dict[str, str] = {}  # of files that were looked into, parsed or not
        self._seen: dict[str, bool] = {}
        self._located: dict[tuple[str, str], str | None] = {}  # by module and importing file
        self._asked: dict[str, set[str]] = {}  # by importing file, the files that were looked for
        self._opening: set[str] = set()
        self._importable: dict[str, frozenset[str]] = {}  # by folder, the modules and packages that are in sight there
        self._does: dict[str, bool] = {}  # by path, whether the text names an event
        self._absent: dict[str, set[str]] = {}  # by importing file, dotted names of no package of ours

    def open(self, path: str, text: str) -> Program:
        """The program of a file whose text is at hand. A file that has another text by now is read anew."""
        path = os.path.normpath(path)
        if len(self._programs) >= _MOST:  # only here: a file that is being checked still needs those it imports
            self._programs.clear()
            self._texts.clear()
        program = self._programs.get(path)
        if program is None or self._texts.get(path) != text:
            self._texts[path] = text
            program = self._enter(path, text)
        return program

    def put_back(self, program: Program, text: str) -> None:
        """A program that was opened before, in place of another text of the same file."""
        path = os.path.normpath(program.path)
        self._programs[path], self._texts[path] = program, text

    def allows(self, finding: Finding) -> bool:
        """Whether a comment in another file allows a finding that this one brings out there."""
        known = allows(self._texts.get(os.path.normpath(finding.site.path), ""), finding)
        return known or self.project.allows(finding)

    def looked_for(self, path: str) -> dict[str, bool]:
        """Every file that was looked for on behalf of `path`, and whether it was there: its findings hang on them."""
        found: dict[str, bool] = {}
        pending = [os.path.normpath(path)]
        while pending:
            importer = pending.pop()
            absent = self._absent.get(importer, set())
            for module in {dotted.rpartition(".")[0] for dotted in absent}:
                self._locate(module, importer)
            absent.clear()
            for asked in self._asked.get(importer, ()):
                if asked not in found:
                    found[asked] = self._seen[asked]
                    pending += [asked] if found[asked] else []
        return found | dict.fromkeys(self.project.looked_for(path), True)

    def consulted(self, path: str, others: Iterable[str]) -> None:
        """Files and folders that were looked at beside `path`, though it imports none of them."""
        for other in map(os.path.normpath, others):
            self._seen[other] = True
            self._asked.setdefault(os.path.normpath(path), set()).add(other)

    def _enter(self, path: str, text: str) -> Program:
        self._opening.add(path)
        try:
            program = Program(parse(text, path), text, path, elsewhere=self._elsewhere(path))
        finally:
            self._opening.discard(path)
        self._programs[path] = program
        return program

    def _elsewhere(self, importer: str) -> Elsewhere:
        known: dict[tuple[str, bool, bool], Function | Scope | None] = {}
        importable = self._in_sight(os.path.dirname(importer))
        absent = self._absent.setdefault(importer, set())

        def elsewhere(dotted: str, derived: bool, cutting: bool = False) -> Function | Scope | None:
            key = (dotted, derived, cutting)
            if key not in known:
                known[key] = None  # two files that import each other
                package = dotted.partition(".")[0]
                if package in importable or dotted[:1] == ".":
                    known[key] = self._find(dotted, importer, derived, cutting)
                else:  # most names are other people's
                    absent.add(dotted)
            return known[key]

        return elsewhere

    def _find(self, dotted: str, importer: str, derived: bool, cutting: bool) -> Function | Scope | None:
        module, _, name = dotted.rpartition(".")
        module += "" if module.strip(".") or dotted[0] != "." else "."  # from .. import name
        path = self._locate(module, importer) if module.strip(".") or module else None
        program = self._imported(path, name, derived, cutting) if path is not None else None
        if program is None:
            return None
        top = program.roots.module
        found = None if derived else top.function(name)
        cls = found or top.class_scope(name, derived=derived) or top.class_scope(top.dotted(name), derived=derived)
        return cls or (top.functions.get(name) if derived else None)

    def _imported(self, path: str, name: str, derived: bool, cutting: bool) -> Program | None:
        """The program of a file, for a name that it is worth reading for. That hangs on its text alone, not on whether
        somebody has read it before for another name: findings must not change with the order of files."""
        try:
            if path not in self._texts:
                self._texts[path] = read_text(path)
            text = self._texts[path]
            cutting = cutting and (cuts(name, text) or (_DIVISOR in text and name in text))
            worth = cutting or self._may_define(name, path, derived)
            if not worth or path in self._opening:
                return None
            return self._programs.get(path) or self._enter(path, self._texts[path])
        except (SourceError, RecursionError):
            self._texts[path] = ""  # its own check says why it cannot be read
            return None

    def _may_define(self, name: str, path: str, derived: bool) -> bool:
        """Whether it is worth parsing a module for a name: it defines it beside some event, or passes it on."""
        text = self._texts[path]
        if os.path.basename(path) == _REEXPORTS and name in text:
            return True
        if derived and (f"class {name}" in text or f"def {name}(" in text):
            return True
        if path not in self._does:
            self._does[path] = any(word in text for word in _EVENTS) or _GRADIENT.search(text) is not None
        return self._does[path] and name in text

    def _in_sight(self, folder: str) -> frozenset[str]:
        """The modules and packages that lie where a file of this folder could import them from. Folders are listed
        once, not asked for every name."""
        if folder not in self._importable:
            above = folder not in ("", self._root, os.path.dirname(folder))
            outer = self._in_sight(os.path.dirname(folder)) if above else frozenset[str]()
            try:
                with os.scandir(folder or ".") as entries:
                    self._importable[folder] = outer.union(filter(None, map(_imported_as, entries)))
            except OSError:
                self._importable[folder] = outer
        return self._importable[folder]

    def _locate(self, module: str, importer: str) -> str | None:
        """The file of a module, relative (`..losses`) or absolute (`project.losses`)."""
        key = (module, importer)
        if key not in self._located:
            self._located[key] = self._look_for(module, importer)
        return self._located[key]

    def _look_for(self, module: str, importer: str) -> str | None:
        name = module.lstrip(".")
        below = name.replace(".", os.sep)
        level = len(module) - len(name)
        folder = os.path.dirname(importer)
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._file(os.path.join(folder, below), importer)
        for _ in range(_HIGHEST):
            found = self._file(os.path.join(folder, below), importer)
            if found is not None or folder in ("", self._root, os.path.dirname(folder)):
                return found
            folder = os.path.dirname(folder)
        return None

    def _file(self, base: str, importer: str) -> str | None:
        for path in (f"{base}.py", os.path.join(base, _REEXPORTS)):
            path = os.path.normpath(path)
            if path not in self._seen:
                self._seen[path] = os.path.isfile(path)
            self._asked.setdefault(importer, set()).add(path)
            if self._seen[path]:
                return path
        return None


def _imported_as(entry: os.DirEntry[str]) -> str:
    """What an entry of a folder is imported as; nothing if it cannot be."""
    stem, _, suffix = entry.name.partition(".")
    if suffix == "py":
        return stem if entry.is_file() else ""
    return stem if not suffix and entry.is_dir() else ""
