"""Law 2: through `check_text`, what is certain some execution shows; what some execution shows is certain or possible.

Random programs that need nothing from outside but torch, with functions, methods, closures, containers and several
optimizers. Each is read as text, and executed by Python over a torch that only keeps account: every
`torch.rand(()) < 0.5` is answered both ways. An execution that comes back to a place it has been at, in the same
states, has nothing new to show, so the search is finite and complete. Not asked here: whether a branch that the path
did not take would have cured a certain finding.

A finding may stand at any of the calls that lead to the event: where a function does nothing but hand on, readers tell
it at its call.
"""

import ast
import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FrameType, SimpleNamespace
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laws.reader.readers import MAIN, Answer, Reader
from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import CLEAN, Facts, lift
from zerograd.core.judgement import Code
from zerograd.core.judgement import judge as judged
from zerograd.core.machine import Content
from zerograd.rules import REGISTRY

EXECUTIONS = 5000  # of one program: few have more than a hundred
CHANCE = "torch.rand(()) < 0.5"

# What one fault may be called: a partial clear and a leak are told in place of the stale gradient that they leave.
_NAMES = {"ZG001": {"ZG001", "ZG005", "ZG006"}, "ZG002": {"ZG002"}, "ZG003": {"ZG003"}, "ZG004": {"ZG004"}}
_CALLED = {"ZG001": "ZG001", "ZG006": "ZG001", "ZG002": "ZG002", "ZG003": "ZG003", "ZG004": "ZG004"}
_WHOLE = {"ZG002", "ZG003", "ZG004"}  # said of a step, not of one of its slots
_LAWS = Code([REGISTRY[code] for code in _NAMES])

_COMPUTES = re.compile(r"net_[ab]\(|learn\(")  # a loss

Lines = list[str]
Slot = tuple[str, str]  # optimizer and network
Answers = tuple[bool, ...]
Chain = tuple[int, ...]  # the lines of the calls that lead to an event, innermost first

# The programs

_HEAD = """\
import torch
from torch import nn

net_a, net_b = nn.Linear(2, 1), nn.Linear(2, 1)
opt_a = torch.optim.SGD(net_a.parameters(), lr=0.1)
opt_b = torch.optim.SGD({held}, lr=0.1)
x = torch.ones(4, 2)
batches = [torch.ones(4, 2), torch.ones(4, 2), torch.ones(4, 2)]
"""
# By what a program says when it needs one: a function that nobody calls would be judged for callers that there are not.
_DEFINITIONS = {
    "do(": "def do(thing):\n    thing.step()",
    "tidy(": "def tidy(thing):\n    thing.zero_grad()",
    "pull(": "def pull(value):\n    value.backward()",
    "learn(": "def learn(net):\n    loss = net(x).mean()\n    loss.backward()",
    "tidy_b(": (
        "def closing_over(thing):\n    def again():\n        thing.zero_grad()\n\n    return again\n\n\n"
        "tidy_b = closing_over(opt_b)"
    ),
    "things[": 'things = {"a": opt_a, "b": opt_b}',
    "pair": "pair = [opt_a, opt_b]",
}
_HANDS = "class Hands:\n    def __init__(self, first, second):\n        self.first, self.second = first, second\n"
_METHODS = {
    "hands.do(": "def do(self, thing):\n    thing.step()",
    "hands.tidy(": "def tidy(self, thing):\n    thing.zero_grad()",
    "hands.pull(": "def pull(self, value):\n    value.backward()",
    "hands.first_steps(": "def first_steps(self):\n    self.first.step()",
    "hands.first_clears(": "def first_clears(self):\n    self.first.zero_grad()",
}
_OPTIMIZERS = ["opt_a", "hands.first", 'things["a"]', "pair[0]", "opt_b", "hands.second", 'things["b"]', "pair[1]"]
_CALLS = {
    "step": ["{0}.step()", "do({0})", "hands.do({0})", "act = {0}.step\nact()", "def now():\n    {0}.step()\nnow()"],
    "zero_grad": ["{0}.zero_grad()", "tidy({0})", "hands.tidy({0})", "act = {0}.zero_grad\nact()"],
    "backward": ["{0}.backward()", "pull({0})", "hands.pull({0})", "loss = {0}\nloss.backward()"],
}
_LOSSES = ["net_a(x).mean()", "net_b(x).mean()", "(net_a(x) + net_b(x)).mean()"]
_OTHERS = [
    *("learn(net_a)", "learn(net_b)", "hands.first_steps()", "hands.first_clears()", "tidy_b()", "net_a.zero_grad()"),
    "for each in pair:\n    each.zero_grad()",
    "for each in pair:\n    each.step()",
]


def _action() -> st.SearchStrategy[Lines]:
    receivers = st.sampled_from(_OPTIMIZERS)
    calls = st.sampled_from(["step", "zero_grad"]).flatmap(lambda event: st.sampled_from(_CALLS[event]))
    on_optimizers = st.tuples(calls, receivers).map(lambda t: t[0].format(t[1]))
    deposits = st.tuples(st.sampled_from(_CALLS["backward"]), st.sampled_from(_LOSSES)).map(lambda t: t[0].format(t[1]))
    return st.one_of(on_optimizers, on_optimizers, deposits, st.sampled_from(_OTHERS)).map(str.splitlines)


def _indent(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


def _block(children: st.SearchStrategy[Lines]) -> st.SearchStrategy[Lines]:
    return st.lists(children, min_size=1, max_size=4).map(lambda blocks: [line for block in blocks for line in block])


def _compound(children: st.SearchStrategy[Lines]) -> st.SearchStrategy[Lines]:
    block = _block(children)
    jump = st.sampled_from([["continue"], ["break"], ["pass"]])
    return st.one_of(
        block.map(lambda body: [f"if {CHANCE}:", *_indent(body)]),
        st.tuples(block, block).map(lambda t: [f"if {CHANCE}:", *_indent(t[0]), "else:", *_indent(t[1])]),
        block.map(lambda body: ["for batch in batches:", *_indent(body)]),
        block.map(lambda body: [f"while {CHANCE}:", *_indent(body)]),
        st.tuples(block, jump, block).map(
            lambda t: ["for batch in batches:", *_indent([*t[0], f"if {CHANCE}:", *_indent(t[1]), *t[2]])]
        ),
    )


def program(held: str, body: Lines) -> str:
    """A program around these statements, with what they need and nothing else; the second optimizer has `held`."""
    count = itertools.count(1)
    text = re.sub("for batch in", lambda found: f"for batch_{next(count)} in", "\n".join(body))
    alone = text.replace("hands.", "hands_")
    parts = [_HEAD.format(held=held), *(one for name, one in _DEFINITIONS.items() if name in alone)]
    if alone != text:
        methods = [line for name, one in _METHODS.items() if name in text for line in _indent(one.splitlines())]
        parts.append("\n".join([_HANDS, *methods, "", "", "hands = Hands(opt_a, opt_b)"]))
    return "\n\n\n".join([*parts, "\n".join(["def main():", *_indent(text.splitlines())]), "main()\n"])


PROGRAMS: st.SearchStrategy[str] = st.builds(
    program,
    st.sampled_from(["net_b.parameters()", "net_b.parameters()", "[*net_a.parameters(), *net_b.parameters()]"]),
    _block(st.recursive(_action(), _compound, max_leaves=7)),
)

# Their executions


class Halt(BaseException):
    """The search has been here before."""


Fault = tuple[Chain, str]


class Shown(NamedTuple):
    """What executions show. Of some a reader may speak or be silent, as it likes: of a step on nothing before anything
    was learned, which is a warm-up or a fault; of two optimizers that both hold what they step, at their making; and of
    gradients that are cleared unused, at the clear or at the backward."""

    faults: set[Fault]
    optional: set[Fault]

    def has(self, line: int, code: str) -> bool:
        return any(line in chain and code == its for chain, its in self.faults | self.optional)


class Execution:
    """One execution under a list of answers; past its end the answer is yes, and no is left for another execution."""

    def __init__(self, answers: Answers, seen: set[object], pending: list[Answers], shown: Shown) -> None:
        self._answers, self._seen, self._pending, self._shown = answers, seen, pending, shown
        self._given: Answers = ()
        self._names = 0
        self._facts: dict[Slot, Facts] = {}
        self._learned: set[Slot] = set()
        self._made: dict[str, int] = {}
        self._filled: dict[Slot, Chain] = {}  # by which backward

    def chance(self) -> bool:
        turn = len(self._given)
        if turn >= len(self._answers):
            standing = (_position(), frozenset(self._facts.items()), frozenset(self._learned))
            if standing in self._seen:
                raise Halt
            self._seen.add(standing)
            self._pending.append((*self._given, False))
        answer = self._answers[turn] if turn < len(self._answers) else True
        self._given += (answer,)
        return answer

    def holds(self, optimizer: str, networks: Iterable[str]) -> None:
        self._made[optimizer] = _chain()[0]
        self._facts |= {(optimizer, network): CLEAN for network in networks}

    def new_name(self) -> str:
        """For a network or an optimizer: the same in every execution."""
        self._names += 1
        return f"thing {self._names}"

    def emit(self, kind: Kind, networks: Iterable[str], optimizer: str | None = None) -> None:
        chain = _chain()
        event = Event(kind, site=Site(MAIN, chain[0]))
        slots = [one for one in self._facts if one[1] in set(networks) and optimizer in (None, one[0])]
        broken = {slot: {verdict.law.code for verdict in judged(self._facts[slot], event, _LAWS)} for slot in slots}
        for code in set().union(*broken.values()):
            hit = [code in codes for codes in broken.values()]
            nothing = all(codes & {"ZG002", "ZG003"} for codes in broken.values())
            if all(hit) if code in _WHOLE else any(hit):
                warm_up = code == "ZG003" and not self._learned & set(slots)
                (self._shown.optional if warm_up else self._shown.faults).add((chain, code))
            elif nothing:
                self._shown.optional.add((chain, code))  # it finds nothing, in one slot for this reason
        for slot in slots:
            if kind is Kind.CONSUME:
                self._shown.optional.update(((self._made[one],), "ZG004") for one in self._both(slot))
            if kind is Kind.CLEAR and _is(Content.FRESH, self._facts[slot]):
                self._shown.optional.add(((*chain, *self._filled[slot]), "ZG002"))
            self._facts[slot] = lift(self._facts[slot], event)
            if kind is Kind.DEPOSIT:
                self._learned.add(slot)
                self._filled[slot] = chain

    def _both(self, slot: Slot) -> Iterator[str]:
        """The two optimizers that step on one gradient of a network which both hold: this one, and one before it."""
        fresh = _is(Content.FRESH, self._facts[slot])
        for other, facts in self._facts.items() if fresh else ():
            if other[1] == slot[1] and other[0] != slot[0] and _is(Content.SPENT, facts):
                yield from (slot[0], other[0])


def _is(content: Content, facts: Facts) -> bool:
    return all(fact.state.content is content for fact in facts)


def _position() -> tuple[object, ...]:
    """Where the program stands: the instruction of each of its functions, and the batch that each loop is at."""
    found: list[object] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == MAIN:
            batches = ((name, str(value)) for name, value in frame.f_locals.items() if name.startswith("batch_"))
            found.append((frame.f_code.co_name, frame.f_lasti, *sorted(batches)))
        frame = frame.f_back
    return tuple(found)


def _chain() -> Chain:
    found: list[int] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == MAIN:
            found.append(frame.f_lineno)
        frame = frame.f_back
    return tuple(found)


class _Chance:
    def __init__(self, run: Execution) -> None:
        self._run = run

    def __lt__(self, other: float) -> bool:
        return self._run.chance()


class _Value:
    """A tensor: which networks its graph goes through."""

    def __init__(self, run: Execution, networks: frozenset[str], name: str = "") -> None:
        self._run, self.networks, self._name = run, networks, name

    def __str__(self) -> str:
        return self._name

    def __add__(self, other: "_Value") -> "_Value":
        return _Value(self._run, self.networks | other.networks)

    def mean(self) -> "_Value":
        return self

    def backward(self) -> None:
        self._run.emit(Kind.DEPOSIT, self.networks)


class _Network:
    def __init__(self, run: Execution) -> None:
        self._run, self.name = run, run.new_name()

    def __call__(self, value: object) -> _Value:
        return _Value(self._run, frozenset({self.name}))

    def parameters(self) -> Iterator["_Network"]:
        return iter([self])

    def zero_grad(self) -> None:
        self._run.emit(Kind.CLEAR, [self.name])


class _Optimizer:
    def __init__(self, run: Execution, parameters: Iterable[_Network]) -> None:
        self._run, self._name, self._held = run, run.new_name(), [one.name for one in parameters]
        run.holds(self._name, self._held)

    def step(self) -> None:
        self._run.emit(Kind.CONSUME, self._held, self._name)

    def zero_grad(self) -> None:
        self._run.emit(Kind.CLEAR, self._held)


def _torch(run: Execution) -> SimpleNamespace:
    return SimpleNamespace(
        nn=SimpleNamespace(Linear=lambda *size: _Network(run)),
        optim=SimpleNamespace(SGD=lambda parameters, lr: _Optimizer(run, parameters)),
        ones=lambda *size: _Value(run, frozenset(), run.new_name()),
        rand=lambda size: _Chance(run),
    )


def _builtins(torch: SimpleNamespace) -> dict[str, Any]:
    return {**vars(sys.modules["builtins"]), "__import__": lambda *args, **kwargs: torch}


def shown_by_executions(text: str) -> Shown:
    """What the executions of a program show, under every answer to its questions."""
    code = compile(text, MAIN, "exec")
    shown = Shown(set(), set())
    seen: set[object] = set()
    pending: list[Answers] = [()]
    for _ in range(EXECUTIONS):
        if not pending:
            return shown
        run = Execution(pending.pop(), seen, pending, shown)
        with suppress(Halt):
            exec(code, {"__name__": "__main__", "__builtins__": _builtins(_torch(run))})
    raise AssertionError(f"more than {EXECUTIONS} executions of\n{text}")


# The law


class Disagreement(NamedTuple):
    unshown: set[tuple[int, str]]  # certain, and no execution shows it
    unreported: set[Fault]  # shown, and neither certain nor possible


def disagreement(text: str, reader: Reader) -> Disagreement:
    return _compared(text, reader({MAIN: text}), shown_by_executions(text))


def _compared(text: str, answer: Answer, shown: Shown) -> Disagreement:
    idle = _idle_lines(text)
    told = {(line, code) for (_, line), code in answer.certain | answer.possible}
    unreported = {
        (chain, code)
        for chain, code in shown.faults
        if told.isdisjoint((line, name) for line in chain for name in _NAMES[code])
        and not (code == "ZG003" and idle.intersection(chain))
    }
    return Disagreement({one for one in _certain(answer) if not shown.has(*one)}, unreported)


def _idle_lines(text: str) -> set[int]:
    """The lines of loops in which no loss is computed: whoever steps there may be drawing a schedule."""
    inner: dict[int, ast.stmt] = {}
    for loop in (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.For | ast.While)):
        inner |= dict.fromkeys(range(loop.lineno, (loop.end_lineno or loop.lineno) + 1), loop)  # outer ones come first
    return {line for line, loop in inner.items() if not _COMPUTES.search(ast.unparse(loop))}


def _certain(answer: Answer) -> set[tuple[int, str]]:
    return {(line, _CALLED[code]) for (_, line), code in answer.certain if code in _CALLED}


class Agreement(NamedTuple):
    """The law over many programs."""

    programs: int
    certain: int
    unshown: int
    shown: int
    unreported: int


def agreement(programs: Iterable[str], reader: Reader) -> Agreement:
    total = Agreement(0, 0, 0, 0, 0)
    for text in programs:
        answer, shown = reader({MAIN: text}), shown_by_executions(text)
        found = _compared(text, answer, shown)
        sizes = (1, len(_certain(answer)), len(found.unshown), len(shown.faults), len(found.unreported))
        total = Agreement(*map(sum, zip(total, sizes, strict=True)))
    return total


def examples(count: int) -> list[str]:
    """The same programs every time."""
    found: list[str] = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(PROGRAMS)
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return found
