"""Which assignments of a function may have made what a name stands for, at one place in it."""

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.lines import within
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File, LoopNode, Reading

_GROWS = frozenset({"append", "extend", "insert", "add", "copy_", "add_", "update", "put", "push", "appendleft"})
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
_KEY = pattern(r"\[(?:'(\w+)'|(\d+))\]$")
_Branches = frozenset[tuple[str, bool]]
_Arms = frozenset[tuple[ast.If, bool]]
_JUMPS = (ast.Continue, ast.Break, ast.Return, ast.Raise)
Item = int | str | None


class Definition(NamedTuple):
    """One assignment to a path: of `value`, or of its item at `at`. `adds`: what was there before is still in it."""

    node: ast.AST
    value: ast.expr
    at: Item = None
    adds: bool = False
    each: bool = False  # what a loop hands out of `value`


_Named = tuple[str, Definition]


class Reached(NamedTuple):
    """The assignments that may reach a use in its own iteration, and those that come around a loop from an earlier one.
    `certain`: one of the first always has run, so that nothing comes from outside the function."""

    here: list[Definition]
    around: list[Definition]
    certain: bool
    item: Item = None  # of these, the one that is asked for
    loops: tuple[LoopNode, ...] = ()  # those that lead around


class _Spot(NamedTuple):
    """Where a node stands: its first and its last character; the branches around it by what they ask, since a setting
    that is asked twice has one answer; the loops around it; and the blocks that something may lead past."""

    begin: tuple[int, int]
    end: tuple[int, int]
    arms: _Branches
    loops: frozenset[LoopNode]
    risky: frozenset[ast.AST]

    def always_has_run_at(self, use: "_Spot") -> bool:
        return self.loops <= use.loops and self.arms <= use.arms and self.risky <= use.risky

    def excludes(self, use: "_Spot") -> bool:
        """Whether they stand in different arms of one branch, or of two that ask the same."""
        return bool(use.arms) and any((test, not arm) in use.arms for test, arm in self.arms)


class Definitions:
    def __init__(self, function: Reading) -> None:
        self._function = function
        self._made: dict[str, list[Definition]] = {}
        self._spots: dict[ast.AST, _Spot] = {}
        self._tests: dict[ast.If, str] = {}  # what each branch asks, written once
        for path, made in _assigned(function):  # in text order
            self._made.setdefault(path, []).append(made)
        others = _others(function)
        for path, made in others:
            self._made.setdefault(path, []).append(made)
        for path in {path for path, _ in others}:
            if len(self._made[path]) > 1:
                self._made[path].sort(key=lambda made: place(made.node))

    def every(self, path: str) -> list[Definition]:
        return self._made.get(path, [])

    def reaching(self, path: str, use: ast.AST) -> Reached | None:
        """None: nothing here assigns it, nor anything that it is a part of."""
        item: Item = None
        while path not in self._made:
            key, path = _KEY.search(path), path[: max(path.rfind("["), path.rfind("."), 0)]
            item = None if key is None else key[1] if key[1] is not None else int(key[2])
            if path in ("", "self"):
                return None
        made, there = [(one, self._spot(one.node)) for one in self._made[path]], self._spot(use)
        before = [(one, its) for one, its in made if _is_before(one.node, its, use, there) and not its.excludes(there)]
        sure = [its for one, its in before if not one.adds and its.always_has_run_at(there)]
        begun = sure[-1] if sure else None
        later = [one for one, its in before if begun is None or its[:2] > begun[:2]]
        covering = self._covering(later, use) if len(later) > 1 else None
        begun = self._spot(covering.node) if covering is not None else begun
        here = [one for one, its in before if begun is None or its[:2] >= begun[:2]]
        loops = there.loops - begun.loops if begun is not None else there.loops
        around = [one for one, its in made if not loops.isdisjoint(its.loops)] if loops else []
        around = [one for one in around if not self._is_overwritten(one, around)] if len(around) > 1 else around
        ways = tuple([one for one in self._function.loops if one in loops]) if loops else ()
        return Reached(here, around, begun is not None, item, ways)

    def _is_overwritten(self, made: Definition, others: list[Definition]) -> bool:
        """Whether the same iteration always assigns something else behind it: hidden = hidden.detach()"""
        function, its = self._function, self._spot(made.node)
        plain = [one for one in others if isinstance(one.node, ast.Assign | ast.AnnAssign) and not one.adds]
        behind = [(one.node, spot) for one in plain if (spot := self._spot(one.node)).begin > its.end]
        behind = [(node, spot) for node, spot in behind if spot.loops == its.loops and not spot.risky | its.risky]
        if not behind or any(loop.orelse for loop in its.loops):
            return False
        tries, arms = function.of(ast.Try), function.arms(made.node)
        jumps = [place(jump)[0] for jump in (*function.of(ast.Continue), *function.of(ast.Break))]
        return any(
            function.arms(node) <= arms
            and not any(its.end <= jump < spot.begin for jump in jumps)
            and not any(holds(one, node) or holds(one, made.node) for one in tries)
            for node, spot in behind
        )

    def _spot(self, node: ast.AST) -> _Spot:
        found = self._spots.get(node)
        if found is None:
            begin, end = place(node)
            arms = frozenset([(self._asked(branch), arm) for branch, arm in self._function.arms(node)])
            loops = frozenset([loop for (first, last), loop in self._function.placed if first <= begin and end <= last])
            risky = frozenset([block for (first, last), block in self._risky if first <= begin and end <= last])
            found = self._spots[node] = _Spot(begin, end, arms, loops, risky)
        return found

    def _asked(self, branch: ast.If) -> str:
        if branch not in self._tests:
            self._tests[branch] = written(branch.test)
        return self._tests[branch]

    def _covering(self, made: list[Definition], use: ast.AST) -> Definition | None:
        """The first of those that together always have run, one in each arm of a branch: the last ones that do."""
        there = self._spot(use)
        left: dict[_Arms, Definition] = {}
        for one in reversed(made):
            arms = self._function.arms(one.node) - self._function.arms(use)
            its = self._spot(one.node)
            if one.adds or not arms or not its.loops <= there.loops or not its.risky <= there.risky:
                continue
            left.setdefault(arms, one)
            while (other := next((rest for rest in left if _is_other(rest, arms)), None)) is not None:
                arms &= other
                if not arms:
                    return one
                left.setdefault(arms, one)
        return None

    @cached_property
    def _risky(self) -> list[tuple[tuple[tuple[int, int], tuple[int, int]], ast.AST]]:
        """The blocks that an exception, or another case, may lead past, and where they stand."""
        nodes = self._function.nodes
        tries = [one for one in nodes.of(ast.Try) if not all(isinstance(way.body[-1], _JUMPS) for way in one.handlers)]
        quiet = [one for one in nodes.of(ast.With) if "suppress" in written(one.items[0].context_expr)]
        return [(place(one), one) for one in (*tries, *quiet, *nodes.of(ast.TryStar), *nodes.of(ast.Match))]


def _is_other(one: _Arms, other: _Arms) -> bool:
    """Whether two differ in nothing but the arm of one branch."""
    differ = one ^ other
    return len(differ) == 2 and len({id(branch) for branch, _ in differ}) == 1


def definitions_of(function: Reading) -> Definitions:
    """Those of a function, made once: many ask, one after the other."""
    known = function.file.definitions
    if function.node not in known:
        known[function.node] = Definitions(function)
    return known[function.node]


def assigned_by(cls: Scope, path: str, file: File) -> list[tuple[Function, Definition]]:
    """Every assignment to an attribute in the methods of a class and its bases."""
    word = path.partition("[")[0].rpartition(".")[2]
    methods = [method for one in cls.lineage() for method in one.functions.values()]
    return [
        (method, made)
        for method in methods
        if word in _text(method, file)
        for made in definitions_of(Reading(method.node, (), method.scope, file)).every(path)
        if not made.adds
    ]


def _text(method: Function, file: File) -> str:
    """What is written there, or in the file that it is from: a word costs less to look for than all definitions."""
    home = method.scope.module.home
    return within(file.text, method.node) if home is None or home is file.program else home.text


def loops_around(where: Reading, node: ast.AST) -> list[LoopNode]:
    """The loops around a node; of a call only those that do not make the object anew which it is made on."""
    on = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    made = definitions_of(where).every(path_of(on) or "") if on is not None else []
    return [loop for loop in where.loops if holds(loop, node) and not any(holds(loop, one.node) for one in made)]


def _assigned(function: Reading) -> list[_Named]:
    found: list[_Named] = []
    for node in function.of(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):  # most of them
                found.append((target.id, Definition(node, node.value)))
            elif isinstance(target, ast.Attribute):  # most others
                found.append((path_of(target) or "", Definition(node, node.value)))
            else:
                found += _targets(target, node.value, node, None)
    return found


def _others(function: Reading) -> list[_Named]:
    """What is bound in another way: annotated, added to, gone through, opened, filled."""
    found: list[_Named] = []
    for annotated in function.of(ast.AnnAssign):
        if annotated.value is not None:
            found += _targets(annotated.target, annotated.value, annotated, None)
    for named in function.of(ast.NamedExpr):
        found += _targets(named.target, named.value, named, None)
    for change in function.of(ast.AugAssign):
        target = change.target.value if isinstance(change.target, ast.Subscript) else change.target
        found.append((path_of(target) or "", Definition(change, change.value, adds=True)))
    loops: list[ast.For | ast.AsyncFor] = [*function.of(ast.For), *function.of(ast.AsyncFor)]
    for loop in loops:
        found += _elements(loop.target, loop.iter, loop.target)
    listed: list[_Comprehension] = [*function.of(ast.ListComp), *function.of(ast.SetComp), *function.of(ast.DictComp)]
    for made in (*listed, *function.of(ast.GeneratorExp)):
        for each in made.generators:
            found += _elements(each.target, each.iter, made)
    for item in function.of(ast.withitem):
        if item.optional_vars is not None:
            found += _targets(item.optional_vars, item.context_expr, item.optional_vars, None)
    for call in function.of(ast.Call):
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _GROWS and call.args and (path := path_of(func.value)):
            found += [(path, Definition(call, given, adds=True)) for given in call.args]
    return found


def _elements(target: ast.expr, over: ast.expr, node: ast.AST) -> Iterator[_Named]:
    """What a loop hands out may be any item of any item; but of zip() and enumerate() each has its own."""
    if isinstance(target, ast.Name):
        yield target.id, Definition(node, over, each=True)
        return
    match target, over:
        case ast.Tuple(elts=[_, item]), ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            yield from _elements(item, inner, node)
            return
        case ast.Tuple(elts=items), ast.Call(func=ast.Name(id="zip"), args=args) if len(items) == len(args):
            if not any(isinstance(one, ast.Starred) for one in (*items, *args)):
                for item, its in zip(items, args, strict=True):
                    yield from _elements(item, its, node)
                return
    names = (part for part in below(target) if isinstance(part, ast.Name | ast.Attribute))
    yield from ((path_of(part) or "", Definition(node, over, each=True)) for part in names)


def _is_before(made: ast.AST, its: _Spot, use: ast.AST, there: _Spot) -> bool:
    """In front of the use; the names of a comprehension are seen inside it alone."""
    return holds(made, use) if made.__class__ in _COMPREHENSIONS else its.end <= there.begin


def _targets(target: ast.expr, value: ast.expr, node: ast.AST, at: Item) -> Iterator[_Named]:
    if isinstance(target, ast.Tuple | ast.List):
        parallel = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        for position, element in enumerate(target.elts):
            if len(parallel) == len(target.elts):
                yield from _targets(element, parallel[position], node, None)
            else:
                yield from _targets(element, value, node, position if at is None else at)
        return
    target = target.value if isinstance(target, ast.Starred) else target
    if isinstance(target, ast.Subscript):  # x[i] = value: the rest of x is what it was
        yield path_of(target.value) or "", Definition(node, value, at, adds=True)
        if not isinstance(target.slice, ast.Constant):
            return
    yield path_of(target) or "", Definition(node, value, at)


def item_of(node: ast.expr) -> Item:
    """The place or the key that an index names."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) or (isinstance(value, int) and value >= 0) else None


def item_at(node: ast.expr, item: Item) -> ast.expr:
    """That item of a tuple that is written out; of anything else the whole."""
    if isinstance(node, ast.Tuple) and isinstance(item, int) and item < len(node.elts):
        return node.elts[item]
    return node


def is_key(node: ast.expr | None, item: Item) -> bool:
    return isinstance(item, str) and isinstance(node, ast.Constant) and node.value == item
