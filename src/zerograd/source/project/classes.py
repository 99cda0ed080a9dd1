"""A class with all that it inherits inside the project, and the qualified names of what it inherits from outside."""

import ast
from typing import NamedTuple

from zerograd.source.project.files import External, Project
from zerograd.source.project.index import Class, File, Function, dotted_name


class Bases(NamedTuple):
    """Methods and attributes by method resolution, nearest first; `outside`: base classes that cannot be read."""

    methods: dict[str, Function]
    setters: dict[str, Function]
    attributes: dict[str, tuple[File, ast.expr]]
    outside: tuple[str, ...]
    inherited: tuple[Class, ...]  # the class itself first


class Classes:
    """The classes of a project, put together once each."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[Class, Bases] = {}

    def of(self, cls: Class) -> Bases:
        known = self._known.get(cls)
        if known is None:
            self._known[cls] = Bases({}, {}, {}, (), (cls,))  # a cycle inherits nothing
            known = self._known[cls] = self._put_together(cls)
        return known

    def _put_together(self, cls: Class) -> Bases:
        methods: dict[str, Function] = {}
        setters: dict[str, Function] = {}
        attributes: dict[str, tuple[File, ast.expr]] = {}
        outside: list[str] = []
        inherited: list[Class] = [cls]
        for base in reversed(cls.node.bases):  # what is nearer overwrites
            found = self._base(cls, base)
            if isinstance(found, Class):
                above = self.of(found)
                methods |= above.methods
                setters |= above.setters
                attributes |= above.attributes
                outside += above.outside
                inherited += above.inherited
            elif found:
                outside.append(found)
        methods |= cls.methods
        setters |= cls.setters
        attributes |= {name: (cls.file, value) for name, value in cls.attributes.items()}
        return Bases(methods, setters, attributes, tuple(outside), tuple(inherited))

    def _base(self, cls: Class, base: ast.expr) -> Class | str:
        """A class of the project, or the qualified name of one outside."""
        written = dotted_name(base.func if isinstance(base, ast.Call) else base)
        if not written:
            return ""
        head, *rest = written.split(".")
        found = self._project.definition(cls.file, head)
        for name in rest:
            if isinstance(found, File):
                found = self._project.definition(found, name)
            elif isinstance(found, External):
                found = External(f"{found.name}.{name}")
            else:
                return written
        if isinstance(found, Class):
            return found if found is not cls else ""
        if isinstance(found, External):
            return found.name
        local = [other for other in cls.file.classes if other.node.name == written and other is not cls]
        return local[0] if local else written
