"""Random training programs: their text, and every execution of it.

The text is read by the source front end and executed by real Python. Each branch, each loop, each exception and each
slot that an unclear event may hit asks an oracle. An execution that comes back to a place it has been at, in the same
states, has nothing new to show, so the search is finite and complete: no bound on depth, no luck.
"""

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from hypothesis import strategies as st

from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import CLEAN, Facts, lift
from zerograd.core.judgement import judge
from zerograd.rules import REGISTRY

SLOTS = ("opt_a", "opt_b")
Lines = list[str]
Found = set[tuple[str, int, str]]  # slot, line, code

CALLS = st.sampled_from(
    [
        "loss.backward()",
        "loss.backward()",
        "opt_a.step()",
        "opt_a.zero_grad()",
        "opt_b.step()",
        "opt_b.zero_grad()",
        "model.zero_grad()",
        "scaler.scale(loss).backward()",
        "scaler.unscale_(opt_a)",
        "scaler.step(opt_a)",
    ]
).map(lambda call: [call])


def _indent(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


def _block(children: st.SearchStrategy[Lines]) -> st.SearchStrategy[Lines]:
    return st.lists(children, min_size=1, max_size=3).map(lambda blocks: [line for block in blocks for line in block])


def _compound(children: st.SearchStrategy[Lines]) -> st.SearchStrategy[Lines]:
    block = _block(children)
    jump = st.sampled_from([[], [], ["break"], ["continue"], ["return"]])
    loop = st.sampled_from(["while choose():", "for _ in items():", "while True:"])
    return st.one_of(
        block.map(lambda body: ["if choose():", *_indent(body)]),
        block.map(lambda body: ["if flag:", *_indent(body)]),
        st.tuples(block, block).map(lambda t: ["if not flag:", *_indent(t[0]), "else:", *_indent(t[1])]),
        st.tuples(block, block).map(lambda t: ["if choose():", *_indent(t[0]), "else:", *_indent(t[1])]),
        st.tuples(loop, block, block, jump).map(
            lambda t: [t[0], *_indent([*t[1], "if choose():", *_indent([*t[2], *t[3]])])]
        ),
        st.tuples(loop, block, block).map(lambda t: [t[0], *_indent(t[1]), "else:", *_indent(t[2])]),
        st.tuples(block, block, st.sampled_from(["except Exception:", "except ValueError:"])).map(
            lambda t: ["try:", *_indent(["ping()", *t[0]]), t[2], *_indent(t[1])]
        ),
        st.tuples(block, jump, block).map(
            lambda t: [
                "while choose():",
                *_indent(["try:", *_indent(["ping()", *t[0], *t[1]]), "finally:", *_indent(t[2])]),
            ]
        ),
        block.map(lambda body: ["with context():", *_indent(body)]),
    )


PROGRAMS = _block(st.recursive(CALLS, _compound, max_leaves=6)).map(
    lambda body: "\n".join(["def main():", *_indent(["flag = choose()", *body])])
)


class Halt(BaseException):
    """The search has been here before."""


class Execution:
    """One execution under a list of answers; past its end the answer is yes, and no is left for another execution."""

    def __init__(self, answers: tuple[bool, ...], seen: set[object], pending: list[tuple[bool, ...]]) -> None:
        self.answers, self.seen, self.pending = answers, seen, pending
        self.given: tuple[bool, ...] = ()
        self.facts: dict[str, Facts] = dict.fromkeys(SLOTS, CLEAN)
        self.found: Found = set()
        self.halted = False

    def ask(self, question: str) -> bool:
        if self.halted:
            raise Halt
        turn = len(self.given)
        if turn < len(self.answers):
            answer = self.answers[turn]
        else:
            # Where the program stands: its instruction, the exception it carries, what lies in the slots.
            frame = _main_frame()
            key = (question, frame.f_lasti, frame.f_locals.get("flag"), _carried(), tuple(self.facts.values()))
            if key in self.seen:
                self.halted = True
                raise Halt
            self.seen.add(key)
            self.pending.append((*self.given, False))
            answer = True
        self.given += (answer,)
        return answer

    def emit(self, kind: Kind, slots: tuple[str, ...], *, scaled: bool = False, unclear: bool = False) -> None:
        if self.halted:
            raise Halt
        self.maybe_raise("before")
        for slot in slots:
            if unclear and not self.ask(f"does it hit {slot}?"):
                continue
            event = Event(kind, slot, Site("main", _main_frame().f_lineno), scaled)
            for verdict in judge(self.facts[slot], event, REGISTRY.values()):
                self.found.add((slot, _main_frame().f_lineno, verdict.law.code))
            self.facts[slot] = lift(self.facts[slot], event)
        self.maybe_raise("behind")

    def maybe_raise(self, when: str = "here") -> None:
        if self.ask(f"raise {when}?"):
            raise ValueError if self.ask(f"which {when}?") else KeyError


def _main_frame():
    frame = sys._getframe(1)
    while frame.f_code.co_name != "main":
        frame = frame.f_back
    return frame


def _carried() -> tuple[type, ...]:
    error, types = sys.exc_info()[1], ()
    while error is not None:
        types += (type(error),)
        error = error.__context__
    return types


def _world(run: Execution) -> dict[str, object]:
    class Optimizer:
        def __init__(self, slot: str) -> None:
            self.slot = slot

        def step(self) -> None:
            run.emit(Kind.CONSUME, (self.slot,))

        def zero_grad(self) -> None:
            run.emit(Kind.CLEAR, (self.slot,))

    class Loss:
        def __init__(self, scaled: bool = False) -> None:
            self.scaled = scaled

        def backward(self) -> None:
            run.emit(Kind.DEPOSIT, SLOTS, scaled=self.scaled)

    class Model:
        def zero_grad(self) -> None:
            run.emit(Kind.CLEAR, SLOTS, unclear=True)

    class Scaler:
        def scale(self, loss: Loss) -> Loss:
            return Loss(scaled=True)

        def unscale_(self, optimizer: Optimizer) -> None:
            run.emit(Kind.UNSCALE, (optimizer.slot,))

        def step(self, optimizer: Optimizer) -> None:
            run.emit(Kind.CONSUME, (optimizer.slot,), scaled=True)

    def left_by(caught: type[Exception]) -> type[Exception]:
        # Python looks at the class with the exception already in hand.
        if isinstance(sys.exc_info()[1], caught):
            run.emit(Kind.ABANDON, SLOTS, unclear=True)
        return caught

    def items() -> Iterator[int]:
        while run.ask("next?"):
            yield 0

    @contextmanager
    def context() -> Iterator[None]:
        yield

    return {
        **{slot: Optimizer(slot) for slot in SLOTS},
        "loss": Loss(),
        "model": Model(),
        "scaler": Scaler(),
        "choose": lambda: run.ask("choose"),
        "items": items,
        "context": context,
        "ping": run.maybe_raise,
        "left_by": left_by,
    }


def _with_exits(text: str) -> str:
    """The text with every exception that a handler takes from a backward() made an event of its own."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Try) and "backward()" in "".join(map(ast.unparse, node.body)):
            for handler in node.handlers:
                caught = ast.unparse(handler.type)
                lines[handler.lineno - 1] = lines[handler.lineno - 1].replace(caught, f"left_by({caught})")
    return "\n".join(lines)


def findings_of_all_executions(text: str) -> Found:
    code = compile(_with_exits(text), "main", "exec")
    found: Found = set()
    seen: set[object] = set()
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        run = Execution(pending.pop(), seen, pending)
        world = _world(run)
        exec(code, world)
        main: Callable[[], None] = world["main"]
        with suppress(Halt, ValueError, KeyError):
            main()
        found |= run.found
    return found
