"""Law 4: no word decides. What a thing is follows from what made it and what is done with it, not from how it is
spelled.

Reads our own tree. A word decides where a literal that could be an identifier, or a table of such literals, is
compared with something, searched in it, or looked up by it. What Python itself means by a word (`__init__`, `super`)
is no word in this sense, and neither is a member of an Enum. Data flow is not followed, so a tag of our own that is
compared as a string counts as well: make it an Enum, or say on the line `# not a name: ...` why it is
none of the program's.
"""

import ast
import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[3] / "src" / "zerograd" / "source"
MAY_KNOW_WORDS = ("effects", "project/hints.py")
MUST_NOT = ("project", "heap", "execute", "questions")  # as soon as they exist
EXCUSE = "# not a name:"

_IDENTIFIER = re.compile(r"[A-Za-z_]\w+(\.\w+)*")
_IN_PATTERN = re.compile(r"(?<!\\)[A-Za-z]{3,}")
_SEARCHES = {"startswith", "endswith", "removeprefix", "removesuffix", "find", "rfind", "index", "count", "partition"}
_SEARCHES |= {"rpartition", "split", "replace"}
_MATCHERS = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "pattern"}
_SET_METHODS = {"intersection", "isdisjoint", "issubset", "issuperset", "difference", "get", "union"}
_LANGUAGE = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist}


class Use(NamedTuple):
    """A place where a word decides."""

    file: str  # under source/
    line: int
    how: str


def uses(folder: Path = SOURCE) -> list[Use]:
    """Every place in a tree where a word decides, outside what may know words."""
    files = sorted(folder.rglob("*.py"))
    trees = {file: ast.parse(file.read_text()) for file in files}
    tables = {name for tree in trees.values() for name in _tables(tree)}
    enums = {name for tree in trees.values() for name in _enums(tree)}
    found: list[Use] = []
    for file, tree in trees.items():
        inside = file.relative_to(folder).as_posix()
        if not any(inside == one or inside.startswith(f"{one}/") for one in MAY_KNOW_WORDS):
            excused = {at for at, line in enumerate(file.read_text().splitlines(), start=1) if EXCUSE in line}
            found += [
                Use(inside, line, how) for line, how in _places(tree, _seen(tree, tables, enums)) if line not in excused
            ]
    return found


def by_package(found: Iterable[Use]) -> dict[str, int]:
    """How many in each package, and in the files beside them."""
    counts: dict[str, int] = {}
    for use in found:
        package, slash, _ = use.file.partition("/")
        counts[package if slash else "(files)"] = counts.get(package if slash else "(files)", 0) + 1
    return dict(sorted(counts.items()))


def forbidden(found: Iterable[Use]) -> list[Use]:
    """Those in packages that must have none."""
    return [use for use in found if use.file.split("/")[0] in MUST_NOT]


def is_word(value: object) -> bool:
    """Whether a literal could be an identifier of a program, and is not one of Python's own."""
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value) or value.endswith(".py"):
        return False
    return not all(part in _LANGUAGE or (part.startswith("__") and part.endswith("__")) for part in value.split("."))


def _tables(tree: ast.Module) -> Iterator[str]:
    """Names that are bound to a collection of words at the top of a file or in the body of a class."""
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for statement in (one for body in bodies for one in body):
        value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if value is not None and _holds_words(value):
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _enums(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith(("Enum", "Flag")) for base in node.bases):
            yield node.name


class Tables(NamedTuple):
    """What a file sees as tables of words."""

    names: frozenset[str]  # as a name of its own or an imported one
    attributes: frozenset[str]  # of anything but an Enum
    enums: frozenset[str]


NO_TABLES = Tables(frozenset(), frozenset(), frozenset())


def _seen(tree: ast.Module, tables: set[str], enums: set[str]) -> Tables:
    """A name that the file itself gives to something else is not the table that another file calls so."""
    own = {
        one.id
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        for one in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(one, ast.Name)
    }
    return Tables(frozenset(tables - (own - set(_tables(tree)))), frozenset(tables), frozenset(enums))


def _holds_words(node: ast.expr, tables: Tables = NO_TABLES) -> bool:
    """Whether this is a word, a collection of words or something made of one."""
    if isinstance(node, ast.Constant):
        return is_word(node.value)
    if isinstance(node, ast.Name):
        return node.id in tables.names
    if isinstance(node, ast.Attribute):
        member = isinstance(node.value, ast.Name) and node.value.id in tables.enums
        return node.attr in tables.attributes and not member
    if isinstance(node, ast.Dict):
        return any(key is not None and _holds_words(key, tables) for key in node.keys)
    if isinstance(node, ast.Set | ast.List | ast.Tuple):
        return any(_holds_words(one, tables) for one in node.elts)
    if isinstance(node, ast.BinOp):
        return _holds_words(node.left, tables) or _holds_words(node.right, tables)
    if isinstance(node, ast.Starred):
        return _holds_words(node.value, tables)
    if isinstance(node, ast.Call):
        makes = isinstance(node.func, ast.Name) and node.func.id in (
            "frozenset",
            "set",
            "tuple",
            "dict",
            "MappingProxyType",
        )
        splits = isinstance(node.func, ast.Attribute) and node.func.attr == "split" and _is_text(node.func.value)
        return splits or (makes and any(_holds_words(arg, tables) for arg in node.args))
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 1


def _places(tree: ast.Module, tables: Tables) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asks = any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in node.ops)
            if asks and any(_holds_words(side, tables) for side in sides) and not _is_main(sides):
                yield node.lineno, "compared"
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            if not isinstance(node.slice, ast.Constant | ast.Slice) and _holds_words(node.value, tables):
                yield node.lineno, "looked up"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.Sub | ast.BitXor):
            if _is_table(node.left, tables) != _is_table(node.right, tables):
                yield node.lineno, "looked up"
        elif isinstance(node, ast.MatchValue) and _holds_words(node.value, tables):
            yield node.value.lineno, "compared"
        elif isinstance(node, ast.Call):
            yield from _calls(node, tables)


def _calls(node: ast.Call, tables: Tables) -> Iterator[tuple[int, str]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    first = node.args[0] if node.args else None
    if name in _MATCHERS and isinstance(first, ast.Constant) and isinstance(first.value, str):
        if _IN_PATTERN.search(first.value):
            yield node.lineno, "matched"
    elif isinstance(node.func, ast.Attribute) and first is not None:
        if name in _SEARCHES and _holds_words(first, tables):
            yield node.lineno, "searched"
        elif name in _SET_METHODS and _is_table(node.func.value, tables) and not isinstance(first, ast.Constant):
            yield node.lineno, "looked up"


def _is_table(node: ast.expr, tables: Tables) -> bool:
    return not isinstance(node, ast.Constant) and _holds_words(node, tables)


def _is_main(sides: list[ast.expr]) -> bool:
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
