"""Branches: a test is answered both ways, each arm is executed, and each doubts what the other may have done."""

import ast
from collections.abc import Hashable, Iterable, Sequence

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, NO_DOUBT, NOWHERE, Fact, Facts, doubt
from zerograd.core.facts import join as joined
from zerograd.source.execute import expressions, gradients, schedules, statements, windows
from zerograd.source.execute.execution import Execution, Guard
from zerograd.source.execute.paths import PATH, Path, Slot, State
from zerograd.source.execute.walked import Why
from zerograd.source.heap import answers
from zerograd.source.heap.conditions import (
    Asked,
    At,
    Both,
    Counter,
    First,
    Known,
    Last,
    Linear,
    Not,
    Test,
    equated,
    is_followed,
    leaves,
)

_TRAINS = frozenset({Kind.DEPOSIT, Kind.CONSUME})
_CYCLE = _TRAINS | {Kind.CLEAR}
_MANY_FACTS = 90


def split(ex: Execution, test: Test) -> tuple[Path, Path]:
    """The paths on which a test is answered yes, and no."""
    here, keeps = ex.here, ex.tables.keeps
    if isinstance(test, Known):
        nowhere = here.with_facts(dict.fromkeys(here.facts, frozenset()))
        return (here, nowhere) if test.answer else (nowhere, here)
    if ex.tables.mixed:
        _doubt_mixed(ex, test)
    known: dict[Facts, tuple[Facts, Facts]] = {}  # slots that nothing has hit have the same facts
    yes: dict[Slot, Facts] = {}
    no: dict[Slot, Facts] = {}
    for slot, facts in here.facts.items():
        halves = known.get(facts)
        if halves is None:
            halves = answers.assume(facts, test, True, keeps), answers.assume(facts, test, False, keeps)
            known[facts] = halves
        yes[slot], no[slot] = halves
    return here.with_facts(yes), here.with_facts(no)


def take(ex: Execution, node: ast.stmt, test: Test, arms: Sequence[tuple[Path, list[ast.stmt]]]) -> None:
    branches = [ex.branch(node, number) for number in range(len(arms))]
    frame = ex.frame
    steady = not ex.exploring and not varies(ex, test)
    outs: list[State | None] = []
    for number, (path, body) in enumerate(arms):
        if path.is_dead:
            outs.append(None)
            continue
        ex.path = path
        if not is_sure(ex, test, yes=number == 0):
            _doubt_others(ex, node, test, branches, number)
        level = ex.store.open()
        ex.records.append(branches[number])
        frame.guards.append(Guard(test, number == 0, node, len(frame.loops), len(ex.loops), steady))
        schedules.enter_arm(ex, frame.guards[-1])
        if ex.loops and not is_followed(test) and len(arms) == 2 and expressions.asks_tensor(ex, test):
            gradients.pass_by(ex, node, test, branches[number], branches[1 - number])
        statements.execute(ex, body)
        frame.guards.pop()
        ex.records.pop()
        outs.append(ex.capture(level) if ex.path is not None else None)
        ex.store.undo(level)
    ended = [number for number, out in enumerate(outs) if out is None and not arms[number][0].is_dead]
    if _decides(ex, node, branches, bool(ended)):
        weigh(ex, test, node)
        if ex.loops and _trains(ex, branches) and not varies(ex, test):
            weigh(ex, test, ("next iteration", node))  # it is asked there again, and answered as it was
    if len(arms) == 2 and len(ended) == 1 and _refuses(arms[ended[0]][1]):
        refuse(ex, test, yes=ended[0] == 1)
    ex.meet(outs, (node, ex.context), test if len(arms) == 2 else None)
    if ex.path is not None:
        forget_the_lightest(ex, ex.path, [PATH], _MANY_FACTS)


def forget_the_lightest(ex: Execution, path: Path, slots: Iterable[Slot], most: int) -> None:
    """Where too many paths are told apart, forget the answers that decide over the fewest events."""
    while True:
        crowd = max((path.facts[slot] for slot in slots), key=len, default=NOWHERE)
        asked = {question for fact in crowd for question, _ in answers.answers_of(fact)} if len(crowd) > most else set()
        questions = [question for question in asked if isinstance(question, Asked)]
        if not questions:
            return
        by_weight = sorted(questions, key=lambda question: _weight(ex, question))
        lightest = set(by_weight[: max(1, len(by_weight) // 4)])
        ex.tables.mixed |= lightest
        ex.work -= len(path.facts) + len(crowd)
        forget = answers.forgetting(lightest.__contains__)
        known: dict[int, Facts] = {}  # slots that nothing has hit have the very same facts
        for slot, facts in path.facts.items():
            later = known.get(id(facts))
            if later is None:
                later = known[id(facts)] = forget(facts)
            path.facts[slot] = later


def _weight(ex: Execution, question: Asked) -> tuple[bool, int, str]:
    """How much the answer decides: whether it trains or not, and at how many places."""
    places = ex.tables.weighty.get(question, ())
    return any(isinstance(one, tuple) for one in places), len(places), repr(question)


def _doubt_mixed(ex: Execution, test: Test) -> None:
    """It was forgotten how paths had answered this: each may have done what only those did that answered otherwise."""
    for question in leaves(test):
        if question in ex.tables.mixed and ex.tables.keeps(question):
            ex.each_fact(_doubt_unless_answered, question)


def _doubt_unless_answered(facts: Facts, question: Hashable) -> Facts:
    unsure = frozenset(fact for fact in facts if answers.answer(fact, question) is None)
    return joined(doubt(unsure, ALL_DOUBTS), facts - unsure) if unsure else facts


def _doubt_others(ex: Execution, node: ast.stmt, test: Test, branches: list[Hashable], number: int) -> None:
    """What the arms that are not taken may do is doubted in the one that is."""
    tables, facts = ex.tables, ex.here.facts
    mine = tables.emitted.get(branches[number], {})
    for other, branch in enumerate(branches):
        if other == number:
            continue
        for slot, kinds in tables.skipped(branch).items():
            own = mine.get(slot, NO_DOUBT)
            if own >= _TRAINS and not varies(ex, test) and not ex.called_again:
                continue  # a way of its own to train: what the other does is no excuse
            skipped = kinds if own >= _TRAINS else kinds - own
            if skipped and slot in facts:
                ex.excuses.note(ex, slot, skipped, node, Why.TEST)
                counted = frozenset(fact for fact in facts[slot] if number and _is_counted(fact, test))
                facts[slot] = joined(doubt(facts[slot] - counted, skipped), counted)


def is_sure(ex: Execution, test: Test, *, yes: bool) -> bool:
    """Whether it is beyond doubt that some iteration answers a test so: a counter is equal to a number only once."""
    if is_followed(test):
        return True
    if isinstance(test, Not):
        return is_sure(ex, test.test, yes=not yes)
    if isinstance(test, Both):
        return is_sure(ex, test.one, yes=yes) and is_sure(ex, test.other, yes=yes)
    return not yes and isinstance(test, Asked) and test.what == "==" and _is_once(ex, test)  # not a name: asked so


def _is_once(ex: Execution, question: Asked) -> bool:
    """Whether a question compares the counter of a loop with what that loop leaves as it is."""
    bases = [one.base if isinstance(one, Linear) else one for one in question.of]
    for base, other in (bases, bases[::-1]):
        counter = ex.counter_ids.get(base) if isinstance(base, int) else None
        if counter is None or counter.key is not None or counter.loop not in ex.loops:
            continue
        parts = ex.identities.parts(other) if isinstance(other, int) else frozenset()
        return not any(_changes(ex, part) for part in parts)
    return False


def _is_counted(fact: Fact, test: Test) -> bool:
    """Of `amp and (i + 1) % n == 0`, not taken: whether a counter alone spoke against it."""
    if not isinstance(test, Both):
        return False
    parts = leaves(test)
    asked: list[tuple[Test, bool]] = [(part, True) for part in (test.one, test.other) if isinstance(part, Asked)]
    asked += [(part.test, False) for part in (test.one, test.other) if isinstance(part, Not)]
    others = [part for part in (test.one, test.other) if not isinstance(part, (Asked, Not))]
    if len(parts) != len(asked) + len(others) or not any(is_followed(part) for part in others):
        return False
    return all(answers.answer(fact, part) is told for part, told in asked)


def _decides(ex: Execution, node: ast.stmt, branches: list[Hashable], ended: bool) -> bool:
    """Whether the answer decides over events, here or in what an arm that is left skips."""
    tables = ex.tables
    if any(branch in tables.emitted or branch in tables.doubted for branch in branches):
        return True
    if not ended:
        return False
    return bool(tables.emitted.get(ex.branch(node, "rest"))) or bool(ex.loops and tables.emitted.get(ex.loops[-1]))


def _trains(ex: Execution, branches: list[Hashable]) -> bool:
    """Whether an arm deposits, steps or clears."""
    emitted = (kinds for branch in branches for kinds in ex.tables.emitted.get(branch, {}).values())
    return any(not kinds.isdisjoint(_CYCLE) for kinds in emitted)


def weigh(ex: Execution, test: Test, node: Hashable) -> None:
    """The answer to this test decides over events here."""
    tables = ex.tables
    for question in leaves(test):
        if isinstance(question, At):
            tables.weigh(question.place, node)
            if isinstance(node, ast.AST):
                windows.note_decision(ex, question.place, node)
        elif isinstance(question, (First, Last)):
            tables.weigh(question, node)
        elif isinstance(question, Asked):
            equal = equated(question)
            if equal is not None:  # one chain of elif asks one question
                whole = ex.frame.file.chains.get(node, node) if isinstance(node, ast.AST) else node
                tables.weigh(("==", equal[0]), whole)
            tables.weigh(question, node)
            for one in question.of:
                base = one.base if isinstance(one, Linear) else one
                if isinstance(base, int):
                    tables.asked_of |= ex.identities.parts(base)


def varies(ex: Execution, test: Test) -> bool:
    """Whether a test may be answered differently in the next iteration of a loop that it stands in."""
    if not ex.loops:
        return False
    loops = set(ex.loops)
    for question in leaves(test):
        counter = question.place.counter if isinstance(question, At) else getattr(question, "counter", None)
        if isinstance(counter, Counter) and counter.loop in loops:
            return True
        if isinstance(question, Last) and question.loop in loops:
            return True
        if isinstance(question, Asked):
            for one in question.of:
                base = one.base if isinstance(one, Linear) else one
                if isinstance(base, int) and any(_changes(ex, part) for part in ex.identities.parts(base)):
                    return True
    return False


def _changes(ex: Execution, identity: int) -> bool:
    counter = ex.counter_ids.get(identity)
    return ex.changing(identity) or (counter is not None and counter.loop in ex.loops)


def _refuses(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Raise, ast.Expr))


def refuse(ex: Execution, test: Test, *, yes: bool = True) -> None:
    """The program ends unless this is answered so: what must be a constant is no number of micro-batches."""
    if isinstance(test, Not):
        refuse(ex, test.test, yes=not yes)
    elif isinstance(test, Both) and not yes:  # refused together with a setting that is on or off
        parts = [test.one, test.other]
        for part, other in zip(parts, parts[::-1], strict=True):
            if _is_switch(other) and isinstance(part, Asked) and part.what == "<" and part.of[0] == ("k", 1):
                ex.tables.add(ex.tables.refused_with.setdefault(part.of[1], set()), other)
    elif isinstance(test, Asked) and yes and test.what in ("==", "in"):
        for one in test.of:
            if not isinstance(one, tuple) or isinstance(one, Linear):
                ex.tables.add(ex.tables.refused, one.base if isinstance(one, Linear) else one)


def _is_switch(test: Test) -> bool:
    """Whether a test asks a setting that is on or off, or a number that is 0 where it is off."""
    if isinstance(test, Asked):
        return test.what == "true" or (test.what == "<" and test.of[0] == ("k", 0))  # not a name: of a question
    return False
