"""When a guard on a counter is true: 0 is the first micro-batch of a window, -1 the last."""

import ast

import pytest

from zerograd.source.counting.counters import read_guard
from zerograd.source.counting.origins import Origins
from zerograd.source.text.nodes import Nodes

FROM_0 = "for i, x in enumerate(loader):\n    if {}: pass"
FROM_1 = "for i, x in enumerate(loader, start=1):\n    if {}: pass"
BEFORE = "n = 0\nfor x in loader:\n    n += 1\n    if {}: pass"
BEHIND = "n = 0\nfor x in loader:\n    if {}: pass\n    n += 1"

PHASES = [
    (FROM_0, "(i + 1) % N == 0", -1),
    (FROM_0, "i % N == 0", 0),
    (FROM_0, "i % N == N - 1", -1),
    (FROM_0, "i % 4 == 3", -1),
    (FROM_0, "not i % N", 0),
    (FROM_1, "i % N == 0", -1),
    (FROM_1, "(i + 1) % N == 0", -2),
    (BEFORE, "n % N == 0", -1),
    (BEHIND, "n % N == 0", 0),
    (BEHIND, "(n + 1) % N == 0", -1),
    ("for i in range(100):\n    if {}: pass", "(i + 1) % N == 0", -1),
    ("for i in tqdm(range(100)):\n    if {}: pass", "(i + 1) % N == 0", -1),
    ("for i, x in tqdm(enumerate(loader)):\n    if {}: pass", "(i + 1) % N == 0", -1),
    ("for i in range(first, last):\n    if {}: pass", "i % N == 0", None),
]


def guard_of(text: str):
    nodes = Nodes(ast.parse(text))
    test = next(node.test for node in nodes if isinstance(node, ast.If))
    return read_guard(test, Origins(nodes))


@pytest.mark.parametrize(("loop", "test", "phase"), PHASES, ids=lambda value: str(value)[:30])
def test_phases(loop: str, test: str, phase: int | None) -> None:
    assert guard_of(loop.format(test)).phase == phase


def test_tails_and_other_conditions() -> None:
    assert guard_of(FROM_0.format("(i + 1) % N == 0 or i + 1 == len(loader)")).tail
    assert guard_of(FROM_0.format("(i + 1) % N == 0 and ready")).conjoined
    assert guard_of(FROM_0.format("(i + 1) % N != 0")).negated
    assert guard_of(FROM_0.format("ready")) is None


def test_one_name_may_count_in_two_loops() -> None:
    text = FROM_0.format("i % N == 0") + "\nfor i, x in enumerate(loader, 1):\n    if i % N == 0: pass"
    nodes = Nodes(ast.parse(text))
    guards = [read_guard(node.test, Origins(nodes)) for node in nodes if isinstance(node, ast.If)]
    assert [guard.phase for guard in guards] == [0, -1]


def test_accumulation_is_known_by_its_name() -> None:
    assert guard_of(FROM_0.format("(i + 1) % args.gradient_accumulation_steps == 0")).accumulates
    assert not guard_of(FROM_0.format("(i + 1) % log_every == 0")).accumulates


def test_a_flag_that_is_made_of_itself_leads_no_further() -> None:
    tree = ast.parse("for i, x in enumerate(loader):\n    last = last and (i + 1) % N == 0\n    if last: pass")
    test = next(node.test for node in ast.walk(tree) if isinstance(node, ast.If))
    guard = read_guard(test, Origins(Nodes(tree)))
    assert guard is not None
    assert guard.conjoined
