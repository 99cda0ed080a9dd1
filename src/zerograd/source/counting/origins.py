"""Counters, and where each begins: enumerate, range, or a variable that every iteration increases."""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from zerograd.source.counting.arms import Arms, counting_arms, deposits_beside
from zerograd.source.counting.bars import bars_of
from zerograd.source.counting.resumed import begins_at, start_of, wrapped, wrapping
from zerograd.source.text.nodes import Nodes, below
from zerograd.source.text.paths import path_of

_HOLDERS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.Try)


class Origin(NamedTuple):
    """A counter of one loop: its value in the first iteration, before and behind its increment."""

    loop: ast.AST
    first: int | None  # None: carried over from elsewhere
    increased: int = 0  # the line of `i += 1`; 0: the loop itself counts
    arms: Arms = ()  # or those of a branch, of which each counts for itself
    begun: int | None = None  # of one that goes on over the epochs: its value in the very first iteration of all

    def seen_at(self, line: int) -> int | None:
        """Its value in the first iteration, for a test on this line."""
        its = [increased for first, last, increased in self.arms if first <= line <= last]
        increased = its[0] if its else self.increased
        if self.first is None or (self.arms and not its):
            return None  # behind the branch, nobody knows whether it was counted
        return self.first + 1 if increased and line > increased else self.first

    def begun_at(self, line: int) -> int | None:
        """The same in the very first of all, where it is not known for each loop."""
        return self._replace(first=self.begun).seen_at(line)


class Origins:
    """The counters of a function. One name may count in several loops."""

    def __init__(
        self,
        nodes: Nodes,
        function: ast.AST | None = None,
        is_one: Callable[[str], bool] = lambda size: False,
        born: Callable[[str], int | None] = lambda path: None,
    ) -> None:
        self.is_one = is_one  # a group of one is none
        self._found: dict[str, list[Origin]] = {}
        self._function = function
        self._loops: list[ast.AST] = [*nodes.of(ast.For), *nodes.of(ast.AsyncFor), *nodes.of(ast.While)]
        self.flags: dict[str, ast.expr] = {}  # tests that are kept in a variable: is_last = (i + 1) % N == 0
        self.resets: set[str | None] = set()  # counters that are set back to where they began
        self.wraps: dict[str | None, ast.expr] = {}  # those that begin again by themselves: n = (n + 1) % N
        self._nodes = nodes
        self.asked = any(isinstance(node.op, ast.Mod) for node in nodes.of(ast.BinOp))  # some test asks a counter
        incremented = list(_incremented(nodes))
        if not self.asked and not any(starts > 1 for _, _, starts in incremented):
            return
        self.is_one = cache(is_one)  # asked for every guard
        loops: list[ast.For | ast.AsyncFor] = [*nodes.of(ast.For), *nodes.of(ast.AsyncFor)]
        bars = bars_of(nodes) if any(isinstance(loop.iter, ast.Name) for loop in loops) else {}
        for loop in loops:
            bar = self._bar(loop, bars)
            for name, origin in enumerated(loop, bar).items():
                resumed = begins_at(start_of(bar or loop.iter), function, nodes) if origin.first is None else None
                self._found.setdefault(name, []).append(origin._replace(begun=resumed))
        for name, origin, starts in incremented:
            if name not in self._found:
                carried = name.startswith("self.") and not starts
                self._found[name] = [origin._replace(begun=born(name)) if carried else origin]
                if starts > 1:
                    self.resets.add(name)
        for node in nodes.of(ast.Assign):
            made = path_of(node.targets[0])
            if made is None or made in self._found or not isinstance(node.value, ast.BinOp):
                continue
            counted = self._shifted(node, node.value, nodes) or self._goes_on(node.value)
            if counted is not None:
                self._found[made] = [counted]
        self.wraps = {name: size for name, size, line in wrapping(nodes) if self._runs_with(name, line)}
        self.asked = self.asked or bool(self.resets) or bool(self.wraps)
        self.flags = _flags(nodes) if self.asked else {}

    @property
    def moved(self) -> list[int]:
        """The lines where something is counted up that some test asks."""
        modulos = [node.left for node in self._nodes.of(ast.BinOp) if isinstance(node.op, ast.Mod)]
        asked = {path_of(part) for one in modulos for part in below(one)} - {None} | self.resets | set(self.wraps)
        changed = [node.lineno for node in self._nodes.of(ast.AugAssign) if path_of(node.target) in asked]
        return changed + [node.lineno for node in self._nodes.of(ast.Assign) if _counted_up(node) is not None]

    def _runs_with(self, counter: str, line: int) -> bool:
        """Whether a statement runs in every iteration that a counter counts."""
        origin = self.at(counter, line)
        around = [one for kind in _HOLDERS for one in self._nodes.of(kind) if spans(one, line)]
        return origin is not None and max(around, key=lambda one: one.lineno, default=None) is origin.loop

    def _bar(self, loop: ast.For | ast.AsyncFor, bars: dict[str, ast.expr]) -> ast.expr | None:
        """What a loop over a name goes through, if it begins anew with every turn of the loop around."""
        bar = bars.get(loop.iter.id) if isinstance(loop.iter, ast.Name) else None
        others = [one for one in self._loops if one is not loop]
        begins = bar is not None and all(spans(one, bar.lineno) for one in others if spans(one, loop.lineno))
        return bar if begins else None

    def _shifted(self, node: ast.Assign, value: ast.BinOp, nodes: Nodes) -> "Origin | None":
        """done = i + 1, in every iteration."""
        match value:
            case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.Constant(value=int() as more)):
                origin = self.at(name, node.lineno)
                first = origin.seen_at(node.lineno) if origin is not None else None
                around = [one for kind in _HOLDERS for one in nodes.of(kind) if spans(one, node.lineno)]
                again = sum(path_of(one) == path_of(node.targets[0]) for one in _stored(nodes)) > 1
                every = (
                    origin is not None
                    and not again
                    and max(around, key=lambda one: one.lineno, default=None) is origin.loop
                )
                return Origin(origin.loop, first + more) if origin and first is not None and every else None
        return None

    def _goes_on(self, value: ast.BinOp) -> "Origin | None":
        """A counter that is made of another and goes on over the epochs: done = len(loader) * epoch + i."""
        parts = below(value) if isinstance(value.op, ast.Add) else []
        if not any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult) for part in parts):
            return None
        around = [self.at(name.id, value.lineno) for name in parts if isinstance(name, ast.Name)]
        loops = [origin.loop for origin in around if origin is not None]
        innermost = self.around(value.lineno)
        if innermost in loops:
            return Origin(innermost, None, begun=self._begins_with(value))
        return Origin(innermost, None) if loops and innermost is not None else None  # by a counter nobody knows

    def _begins_with(self, value: ast.expr) -> int | None:
        """What such a sum is when both loops begin: len(loader) * 0 + 0."""
        match value:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                both = self._begins_with(left), self._begins_with(right)
                return None if both[0] is None or both[1] is None else both[0] + both[1]
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return 0 if 0 in (self._begins_with(left), self._begins_with(right)) else None
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name):
                origin = self.at(name, value.lineno)
                return origin.seen_at(value.lineno) if origin is not None else None
        return None

    def add(self, name: str, origin: Origin) -> None:
        self._found.setdefault(name, []).append(origin)

    def around(self, line: int) -> ast.AST | None:
        """The loop that someone else's counter must be counting: the innermost one, or every call of a function."""
        loops = [loop for loop in self._loops if spans(loop, line)]
        return max(loops, key=lambda loop: loop.lineno, default=self._function)

    def at(self, name: str, line: int) -> Origin | None:
        """The counter that a test on this line asks: that of the innermost loop around it."""
        around = [origin for origin in self._found.get(name, ()) if spans(origin.loop, line)]
        return max(around, key=lambda origin: getattr(origin.loop, "lineno", 0), default=None)


def _flags(nodes: Nodes) -> dict[str, ast.expr]:
    made: dict[str, list[ast.expr]] = {}
    for node in nodes.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                made.setdefault(name, []).append(value)
    asks = (ast.Compare, ast.BoolOp, ast.UnaryOp)
    return {name: values[0] for name, values in made.items() if len(values) == 1 and isinstance(values[0], asks)}


def _stored(nodes: Nodes) -> list[ast.expr]:
    """What is assigned or counted up."""
    assigned = [target for node in nodes.of(ast.Assign) for target in node.targets]
    return assigned + [node.target for node in nodes.of(ast.AugAssign)]


def spans(loop: ast.AST, line: int) -> bool:
    return getattr(loop, "lineno", 0) <= line <= getattr(loop, "end_lineno", 0)


def enumerated(loop: ast.For | ast.AsyncFor, bar: ast.expr | None = None) -> dict[str, Origin]:
    """for i, batch in enumerate(loader, start); for i in range(n). `bar`: what it goes through has a name."""
    over, target = bar or loop.iter, loop.target
    while isinstance(over, ast.Call) and (path_of(over.func) or "").rpartition(".")[2] in ("tqdm", "trange", "track"):
        if (path_of(over.func) or "").endswith("trange"):
            break
        over = over.args[0] if over.args else over.keywords[0].value if over.keywords else ast.Constant(None)
    if not isinstance(over, ast.Call):
        return {}
    match path_of(over.func), target:
        case "enumerate", ast.Tuple(elts=[first, *_]):
            start = (
                over.args[1] if len(over.args) > 1 else next((k.value for k in over.keywords if k.arg == "start"), None)
            )
            name = path_of(first)
            return {name: Origin(loop, _int(start, 0))} if name else {}
        case "zip", ast.Tuple(elts=[ast.Name(id=name), *_]) if over.args:
            begin = _numbered(over.args[0])
            return {name: Origin(loop, begin)} if begin is not None else {}
        case (("range" | "trange"), ast.Name(id=name)):
            return {name: Origin(loop, 0 if len(over.args) < 2 else _int(over.args[0], None))}
    return {}


def _numbered(over: ast.expr) -> int | None:
    """Where range(n) and itertools.count() begin."""
    match over:
        case ast.Call(func=func, args=args, keywords=[]):
            name = (path_of(func) or "").rpartition(".")[2]
            if (name == "count" and len(args) < 2) or (name == "range" and len(args) in (1, 2)):
                return _int(args[0], None) if len(args) > (name == "range") else 0
    return None


def _int(node: ast.expr | None, default: int | None) -> int | None:
    if node is None:
        return default
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _incremented(nodes: Nodes) -> Iterator[tuple[str, Origin, int]]:
    """step = 0 ... step += 1; and how often it is set to where it begins."""
    name: str | None
    starts: dict[str, list[tuple[int, int | None]]] = {}  # the lines, and what it is set to there
    steps: dict[str, list[ast.AugAssign | ast.Assign]] = {}
    for node in _counting(nodes):
        name = _counted_up(node)
        if name is not None:
            steps.setdefault(name, []).append(node)
    if not steps:
        return
    for made in nodes.of(ast.Assign):
        if isinstance(made.targets[0], ast.Name) and made.targets[0].id not in steps and len(made.targets) == 1:
            continue  # most: nothing that is counted
        for one in made.targets if _counted_up(made) is None and wrapped(made) is None else ():
            for name, its in _pairs(one, made.value):
                starts.setdefault(name, []).append((made.lineno, _int(its, None) if its is not None else None))
    holders: list[ast.stmt] = [node for kind in _HOLDERS for node in nodes.of(kind)]
    for name, increments in steps.items():
        # The innermost statement around the increment must be the loop itself: no branch can skip it.
        around = [node for node in holders if all(spans(node, one.lineno) for one in increments)]
        inner = sorted(around, key=lambda node: node.lineno, reverse=True)
        branch = inner[0] if inner and len(increments) > 1 else None
        arms = counting_arms(increments, branch, nodes) if isinstance(branch, ast.If) else ()
        loop = next(iter(inner[1:] if arms else inner), None)
        if not isinstance(loop, ast.For | ast.AsyncFor | ast.While) or (not arms and len(increments) > 1):
            continue
        if arms and deposits_beside(loop, arms):
            continue
        begin = sorted(starts.get(name, []))
        values = {value for _, value in begin}
        first = begin[0][1] if len(values) == 1 else None
        # step = 0; if resume: step = saved["step"]. A run that resumes nothing begins with the first.
        begun = begin[0][1] if first is None and begin and begin[-1][0] < min(one.lineno for one in around) else None
        yield name, Origin(loop, first, 0 if arms else increments[0].lineno, arms, begun), len(begin)


def _counting(nodes: Nodes) -> list[ast.AugAssign | ast.Assign]:
    """What may count something up."""
    sums = [node for node in nodes.of(ast.Assign) if isinstance(node.value, ast.BinOp)] if nodes.of(ast.BinOp) else []
    return [*nodes.of(ast.AugAssign), *sums]


def _counted_up(node: ast.AugAssign | ast.Assign) -> str | None:
    """i of `i += 1`, `i = i + 1`."""
    match node:
        case ast.AugAssign(target=target, op=ast.Add(), value=ast.Constant(value=1)):
            return path_of(target)
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1))):
            return path_of(target) if path_of(target) == path_of(left) else None
        case ast.Assign(targets=[target], value=ast.BinOp(left=ast.BinOp() as sum_, op=ast.Mod())):
            return _counted_up(ast.Assign([target], sum_))
    return None


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return [pair for one, its in zip(target.elts, value.elts, strict=True) for pair in _pairs(one, its)]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return [(path, None if isinstance(target, ast.Tuple) else value) for name in names if (path := path_of(name))]
