"""What the abstract run says of a program, in the words of the oracle: who holds what, what a backward reaches, what a
clear empties, and which names have a graph. A thing is called by the line that makes it, as the driver calls it.

What it says of no line it says nothing about: a thing from outside has no line, and what a summary stands for is not
executed again.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from laws.reader.oracle import Bounds, Claims, Region
from laws.reader.readers import MAIN, Files
from zerograd.core.events import Event, Kind
from zerograd.core.world import Params
from zerograd.core.world import Region as Part
from zerograd.errors import SourceError
from zerograd.source.check import laws
from zerograd.source.execute import statements
from zerograd.source.execute.execution import Execution
from zerograd.source.execute.roots import execute_all
from zerograd.source.heap.objects import Obj
from zerograd.source.heap.regions import is_unknown
from zerograd.source.heap.values import Graph, Value
from zerograd.source.project.files import Project
from zerograd.source.questions.world import SourceWorld

Places = dict[tuple[int, str], set[Graph]]
Answers = dict[str, dict[int, list[Bounds]]]


def abstract_claims(files: Files) -> Claims:
    """The claims about one program of one file."""
    answers: Answers = defaultdict(lambda: defaultdict(list))
    live: Places = defaultdict(set)
    project = Project()
    try:
        file = project.open(MAIN, files[MAIN])
        with _bindings() as bound:
            for root in execute_all(project, file, laws()):
                _ask(root.execution, answers)
                for place, graphs in bound.pop(root.execution, {}).items():
                    live[place] |= graphs
    except (RecursionError, SourceError):
        return Claims()
    said = {question: {line: _joined(all_) for line, all_ in lines.items()} for question, lines in answers.items()}
    return Claims(
        held=said.get("held", {}),
        reached=said.get("reached", {}),
        cleared=said.get("cleared", {}),
        live={place: graphs == {Graph.LIVE} for place, graphs in live.items() if _is_told(graphs)},
    )


def _is_told(graphs: set[Graph]) -> bool:
    return graphs == {Graph.LIVE} or graphs <= {Graph.NONE, Graph.CUT}


@contextmanager
def _bindings() -> Iterator[dict[Execution, Places]]:
    """While it lasts, every value that a name is bound to, in the last pass of each execution."""
    found: dict[Execution, Places] = {}
    bind, begin = statements.bind, Execution.begin_pass

    def noting(ex: Execution, target: ast.expr, value: Value, node: ast.AST) -> None:
        # A leaf takes a gradient and has no graph, and what has objects is more than a tensor.
        if isinstance(target, ast.Name) and ex.path is not None and not value.objects:
            from_sight = value.made_of and not any(one.given or is_unknown(one) for one in value.made_of)
            graph = value.graph if from_sight or value.graph is not Graph.LIVE else Graph.ANY
            found.setdefault(ex, defaultdict(set))[node.lineno, target.id].add(graph)  # type: ignore[attr-defined]
        bind(ex, target, value, node)

    def beginning(ex: Execution) -> None:
        found.pop(ex, None)
        begin(ex)

    statements.bind, Execution.begin_pass = noting, beginning  # type: ignore[assignment,method-assign]
    try:
        yield found
    finally:
        statements.bind, Execution.begin_pass = bind, begin  # type: ignore[method-assign]


def _ask(ex: Execution, answers: Answers) -> None:
    world = SourceWorld(ex)
    regions = _Regions(ex)
    for optimizer, site, _ in ex.taken:
        held = world.held(optimizer.number, Event(Kind.CONSUME, site=site))
        answers["held"][site.line].append(regions.bounds(held))
    for site in ex.deposits:
        answers["reached"][site.line].append(regions.bounds(world.reached(Event(Kind.DEPOSIT, site=site))))
    for site in ex.cleared:
        answers["cleared"][site.line].append(regions.bounds(world.cleared(Event(Kind.CLEAR, site=site))))


def _joined(said: Iterable[Bounds]) -> Bounds:
    """One line in several roots: sure is what it is in all of them."""
    told = list(said)
    sure = frozenset.intersection(*(one.sure for one in told))
    if any(one.may is None for one in told):
        return Bounds(sure, None)
    return Bounds(sure, frozenset().union(*(one.may or () for one in told)))


class _Regions:
    """The objects of an execution, by the lines that make them."""

    def __init__(self, ex: Execution) -> None:
        self._objects = {obj.number: obj for obj in ex.heap.all()}
        self._main = ex.main.path

    def bounds(self, params: Params) -> Bounds:
        sure = frozenset(one for part in params.sure if (one := self._named(part)) is not None)
        may = [self._named(part) for part in params.may]
        known = frozenset(one for one in may if one is not None)
        return Bounds(sure, known if len(known) == len(set(params.may)) else None)

    def _named(self, part: Part) -> Region | None:
        line = _line(self._objects[part.owner])
        return (line, ".".join(part.path)) if line is not None else None


def _line(obj: Obj) -> int | None:
    """Where it is made; None for what comes from outside."""
    made = {"made": 2, "instance": 2, "leaf": 1, "copy": 1}.get(str(obj.key[0]))
    if made is None or obj.given:
        return None
    node = obj.key[made]
    return node.lineno if isinstance(node, ast.AST) and hasattr(node, "lineno") else None
