"""One function of a file, as the small detectors look at it: its nodes by kind, its events, what stands around what."""

import ast
from bisect import bisect_right
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from zerograd.core.events import Kind, Site
from zerograd.source.files.beside import texts_beside
from zerograd.source.lowering.calls import site_of
from zerograd.source.lowering.program import Program
from zerograd.source.lowering.skeleton import Act, Block, walk
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.text.nodes import below, holds, place, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern

if TYPE_CHECKING:
    from zerograd.source.values.definitions import Definitions

P = TypeVar("P")  # of a block: Act, Call, Loop
LoopNode = ast.For | ast.AsyncFor | ast.While
_GRADIENT = pattern(r"\.grad\b(?!\()(?<!autograd\.grad)")  # a word first: that is what makes a search fast
_BEGIN = attrgetter("begin")
_QUIET = ("no_grad", "inference_mode", "set_grad_enabled")


class _Said(dict[str, bool]):
    """Whether a word stands in a text at all: the cheapest of all questions, and so the first."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __missing__(self, word: str) -> bool:
        self[word] = found = word in self._text
        return found


class File:
    """What the detectors ask about the whole file."""

    def __init__(self, program: Program, text: str) -> None:
        self.program = program
        self.text = text
        self.path = program.path
        self.asked: set[str] = set()  # the files beside it that were looked into, and their folders
        self.says = _Said(text).__getitem__
        self._parts: dict[int, tuple[Block, dict[type, list[Any]]]] = {}
        self.definitions: dict[ast.AST, Definitions] = {}  # of its functions, as far as somebody has asked
        self.called: dict[tuple[ast.AST, str], Function | None] = {}  # by its functions, as far as somebody has asked
        self.others: dict[Program, File] = {}  # that were read for what is called here
        self.built: set[ast.AST] = set()  # the methods that were looked at for what they make
        self._attributes: dict[Scope, dict[str, list[Function]]] = {}
        self.patience = 10_000  # values that may still be followed: functions that call each other have no end of them

    def acts_of(self, block: Block) -> list[Act]:
        """The events of a block, in text order."""
        return self.parts_of(block, Act)

    def parts_of(self, block: Block, kind: type[P]) -> list[P]:
        """What a block has of one kind, in text order: many ask, and it is walked once."""
        known = self._parts.get(id(block))
        if known is None:
            by_kind: dict[type, list[Any]] = {}
            for part in walk(block):
                by_kind.setdefault(part.__class__, []).append(part)
            known = self._parts[id(block)] = block, by_kind
        return known[1].get(kind, [])

    def attributes(self, cls: Scope) -> dict[str, list[Function]]:
        """The attributes that a class and its bases assign, each with the methods that do, once for every time."""
        if cls not in self._attributes:
            found: dict[str, list[Function]] = {}
            for method in _methods(cls, self.program):
                for node in self.program.nodes(method.node).of(ast.Assign):
                    for path in filter(None, map(path_of, node.targets)):
                        if path.startswith("self."):
                            found.setdefault(path, []).append(method)
            self._attributes[cls] = found
        return self._attributes[cls]

    def stores(self, cls: Scope, path: str) -> list[Function]:
        """The methods that store an attribute, in whatever way: a, self.b = both(); self.c: int = 0"""
        found: list[Function] = []
        for method in _methods(cls, self.program):
            nodes = self.program.nodes(method.node).of(ast.Attribute)
            found += [method for one in nodes if isinstance(one.ctx, ast.Store) and path_of(one) == path]
        return found

    @cached_property
    def beside(self) -> list[str] | None:
        """The texts of the files beside it; None where they cannot all be known."""
        return texts_beside(self.path, self.asked)

    @cached_property
    def reads_gradients(self) -> bool:
        """Whether `.grad` of something is named anywhere; torch.autograd.grad() is not."""
        return self.says(".grad") and _GRADIENT.search(self.text) is not None

    @cached_property
    def attached(self) -> frozenset[str]:
        """What an engine was attached to, engine.attach(optimizer), or has steps of its own, optimizer.virtual_step():
        its step() may do anything."""
        if not self.says(".attach(") and not self.says(".virtual_step("):
            return frozenset()
        calls = [node for node in below(self.program.tree) if isinstance(node, ast.Call)]
        methods = [(call, call.func) for call in calls if isinstance(call.func, ast.Attribute)]
        given = [one for call, func in methods if func.attr == "attach" for one in call.args]
        given += [func.value for _, func in methods if func.attr == "virtual_step"]
        return frozenset(path_of(one) or "" for one in given)


class _Branch(NamedTuple):
    begin: tuple[int, int]
    end: tuple[int, int]
    node: ast.If
    outer: int  # the number of the branch around it; -1: there is none


class Reading:
    """A function, or the module's own statements, of one file."""

    def __init__(self, node: ast.AST, block: Block, scope: Scope, file: File) -> None:
        self.node = node
        self.block = block
        self.scope = scope
        self.file = file
        self.nodes = file.program.nodes(node)
        self.of = self.nodes.of

    @cached_property
    def acts(self) -> list[Act]:
        return self.file.acts_of(self.block)

    def parts(self, kind: type[P]) -> list[P]:
        """What its block has of one kind: its events, the calls of functions that touch gradients, its loops."""
        return self.file.parts_of(self.block, kind)

    def having(self, kind: Kind) -> list[Act]:
        return [act for act in self.acts if act.kind is kind]

    def site(self, node: ast.expr | ast.stmt) -> Site:
        return site_of(node, self.file.path)

    @cached_property
    def loops(self) -> list[LoopNode]:
        return [*self.of(ast.For), *self.of(ast.AsyncFor), *self.of(ast.While)]

    @cached_property
    def placed(self) -> list[tuple[tuple[tuple[int, int], tuple[int, int]], LoopNode]]:
        """The same, with where each begins and ends."""
        return [(place(loop), loop) for loop in self.loops]

    @cached_property
    def made(self) -> dict[str, list[ast.Assign]]:
        """The assignments of what calls return, by the last word of what is called: `to` of z = z.to(device)."""
        found: dict[str, list[ast.Assign]] = {}
        for node in self.of(ast.Assign):
            if isinstance(node.value, ast.Call):
                func = node.value.func
                last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
                found.setdefault(last, []).append(node)
        return found

    def loop_around(self, node: ast.AST) -> LoopNode | None:
        """The innermost loop around a node."""
        first, last = place(node)
        around = [(begin, loop) for (begin, end), loop in self.placed if begin <= first and last <= end]
        return max(around, key=itemgetter(0))[1] if around else None

    def without_grad(self, node: ast.AST) -> bool:
        """Whether a node stands where autograd is told to look away."""
        if not any(map(self.file.says, _QUIET)):
            return False
        decorators = getattr(self.node, "decorator_list", [])
        blocks = [one for one in self.of(ast.With) if holds(one, node) and not self._goes_backward_in(one, node)]
        around = [item for block in blocks for item in block.items]
        calls = self.of(ast.Call) if self.file.says("set_grad_enabled") else []
        scoped = {id(item.context_expr) for item in self.of(ast.withitem)} if calls else set()
        switches = [one for one in calls if (path_of(one.func) or "").endswith("set_grad_enabled")]
        switches = [one for one in switches if id(one) not in scoped]  # the others end with their block
        quiet = [*decorators, *(item.context_expr for item in around)]
        return not all(map(_looks_on, switches)) or any(_looks_away(one) and not _looks_on(one) for one in quiet)

    def _goes_backward_in(self, block: ast.With, node: ast.AST) -> bool:
        """with set_grad_enabled(training): ... if training: loss.backward(). Where it goes backward, autograd looks."""
        asked = any("set_grad_enabled" in written(item.context_expr) for item in block.items)
        deposits = [act.node for act in self.having(Kind.DEPOSIT) if act.node is not None] if asked else []
        return any(holds(block, one) and self.arms(node) <= self.arms(one) for one in deposits)

    def arms(self, node: ast.AST) -> frozenset[tuple[ast.If, bool]]:
        """The branches a node stands in: each `if` around it, and whether in its body."""
        first, last = place(node)
        found: list[tuple[ast.If, bool]] = []
        # Whatever branch is around it is also around the last one that begins before it, or is that one.
        number = bisect_right(self._branches, first, key=_BEGIN) - 1
        while number >= 0:
            _, end, branch, number = self._branches[number]
            if last <= end and not holds(branch.test, node):
                found.append((branch, place(branch.body[0])[0] <= first and last <= place(branch.body[-1])[1]))
        return frozenset(found)

    @cached_property
    def _branches(self) -> list[_Branch]:
        """In text order."""
        found: list[_Branch] = []
        for branch in self.of(ast.If):
            begin, end = place(branch)
            outer = len(found) - 1
            while outer >= 0 and found[outer].end < end:
                outer = found[outer].outer
            found.append(_Branch(begin, end, branch, outer))
        return found

    def excludes(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether two nodes stand in different arms of one branch, so that only one of them runs."""
        arms = self.arms(one)
        others = self.arms(other) if arms else frozenset()
        return any((branch, not arm) in others for branch, arm in arms)


def _looks_away(node: ast.expr) -> bool:
    text = written(node)
    return any(word in text for word in _QUIET)


def _looks_on(node: ast.expr) -> bool:
    """set_grad_enabled(True)"""
    return isinstance(node, ast.Call) and written(node).endswith("set_grad_enabled(True)")


def _methods(cls: Scope, program: Program) -> list[Function]:
    """Those of a class and its bases; one that is overridden only if what overrides it runs it."""
    found: list[Function] = []
    hidden: set[str] = set()
    for one in cls.lineage():
        found += [method for name, method in one.functions.items() if name not in hidden]
        for name, method in one.functions.items():
            calls = program.nodes(method.node).of(ast.Call)
            if not any(isinstance(call.func, ast.Attribute) and _is_super(call.func, name) for call in calls):
                hidden.add(name)
    return found


def _is_super(func: ast.Attribute, name: str) -> bool:
    """super().name(...), Base.name(self, ...)"""
    on = func.value
    passed_on = isinstance(on, ast.Call) and path_of(on.func) == "super"
    return func.attr == name and (passed_on or (isinstance(on, ast.Name) and on.id[:1].isupper()))
