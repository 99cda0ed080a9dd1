"""From a text to its findings.

Two readers, while the rules move from one to the other: the abstract run answers for the codes in MOVED, the old reader
for all others. No finding comes from both.
"""

import ast
from collections.abc import Iterable, Iterator

from zerograd.core.findings import Finding, once
from zerograd.errors import SourceError
from zerograd.rules import REGISTRY
from zerograd.rules.rule import Rule
from zerograd.source import idioms, wholes
from zerograd.source.lowering.library import Library
from zerograd.source.lowering.program import Program
from zerograd.source.lowering.skeleton import Block
from zerograd.source.names.scopes import Scope
from zerograd.source.text.parsing import parse
from zerograd.source.text.suppression import JUDGED, allow
from zerograd.source.text.triggers import may_train
from zerograd.source.values.reading import File, Reading

# The codes that the abstract run answers for.
MOVED: frozenset[str] = frozenset(
    [
        *("ZG001", "ZG002", "ZG003", "ZG004", "ZG005", "ZG006", "ZG007", "ZG008", "ZG009", "ZG010"),
        *("ZG101", "ZG102", "ZG103", "ZG105", "ZG106", "ZG107", "ZG201", "ZG202", "ZG203", "ZG204"),
        *("ZG301", "ZG302", "ZG303", "ZG304", "ZG305", "ZG306", "ZG401", "ZG403", "ZG501", "ZG502"),
    ]
)
_FOLLOWED = frozenset({"ZG402"})  # told by what values are made of


def check_text(
    text: str, path: str = "<text>", *, rules: Iterable[Rule] = (), library: Library | None = None
) -> list[Finding]:
    """The findings in one Python file, by line. Raises SourceError if it is not Python.

    What the file imports is looked up in `library`; without one, no other file is read.
    """
    chosen = tuple(rule for rule in (rules or REGISTRY.values()) if rule.code in JUDGED)
    if not may_train(text):
        return allow([], text, path, chosen)
    try:
        found = once([*_read(text, path, chosen, library), *_executed(text, path, chosen, library)])
    except RecursionError:
        raise SourceError(f"{path}: is nested too deeply to be read", slug="not-python") from None
    if library is not None:
        found = [one for one in found if one.site.path == path or not library.allows(one)]
    return allow(found, text, path, chosen)


def _executed(text: str, path: str, chosen: tuple[Rule, ...], library: Library | None) -> list[Finding]:
    """What the abstract run finds, of the rules that have moved to it."""
    codes = {rule.code for rule in chosen} & MOVED
    if not codes:
        return []
    from zerograd.source.abstract import check_abstractly  # 25 modules that no file needs while nothing has moved

    found = check_abstractly(text, path, project=library.project if library is not None else None)
    return [one for one in found if one.code in codes]


def _read(text: str, path: str, chosen: tuple[Rule, ...], library: Library | None) -> list[Finding]:
    """What the old reader finds, of the rules that have not."""
    left = tuple(rule for rule in chosen if rule.code not in MOVED)
    if not left:
        return []
    program = library.open(path, text) if library is not None else Program(parse(text, path), text, path)
    checker = _Checker(program, left, text)
    found = list(checker.findings())
    if library is not None:
        library.consulted(path, checker.asked)
    return found


class _Checker:
    """Asks the detectors about every function that trains, and about the file."""

    def __init__(self, program: Program, rules: tuple[Rule, ...], text: str) -> None:
        self._program = program
        self._chosen = {rule.code for rule in rules}
        self._file = File(program, text)
        self.asked = self._file.asked

    def findings(self) -> Iterator[Finding]:
        module = self._program.module
        tree, top = self._program.tree, self._program.roots.module
        yield from self._idioms(module, tree, top)
        yield from filter(self._is_sure, wholes.detect(self._file))
        for function in self._program.roots.functions:
            if function.node not in self._program.relevant:
                continue
            block = self._program.function(function)
            yield from self._idioms(block, function.node, function.scope)
        self._file.others.clear()
        self._file.definitions.clear()  # they know the file: without a collector, nobody would ever let go of them

    def _idioms(self, block: Block, function: ast.AST, scope: Scope) -> Iterator[Finding]:
        if not block:
            return
        yield from filter(self._is_sure, idioms.detect(Reading(function, block, scope, self._file)))

    def _is_sure(self, finding: Finding) -> bool:
        """Whether a finding is asked for, and nothing that it may rest on was left unfollowed."""
        return finding.code in self._chosen and (self._file.patience >= 0 or finding.code not in _FOLLOWED)
