"""What executions show, on programs whose faults are known; and that the random ones need nothing from outside."""

import ast
import builtins

import pytest
from hypothesis import given, settings

from laws.reader.agreement import (
    CHANCE,
    PROGRAMS,
    agreement,
    disagreement,
    examples,
    program,
    shown_by_executions,
)
from laws.reader.readers import MAIN, Answer, Found, present_reader
from laws.reader.rewrites.scopes import Names

LEARN, STEP, CLEAR = "learn(net_a)", "opt_a.step()", "opt_a.zero_grad()"
SHARED = "[*net_a.parameters(), *net_b.parameters()]"


def looped(*body: str, held: str = "net_b.parameters()") -> str:
    return program(held, ["for batch in batches:", *("    " + line for line in body)])


def codes(text: str) -> set[str]:
    return {code for _, code in shown_by_executions(text).faults}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (looped(CLEAR, LEARN, STEP), set()),
        (looped(LEARN, STEP), {"ZG001"}),
        (looped(LEARN, CLEAR, STEP), {"ZG002"}),
        (looped(CLEAR, LEARN, STEP, STEP), {"ZG004"}),
        (looped(CLEAR, "(net_a(x) + net_b(x)).mean().backward()", STEP, "opt_b.step()"), {"ZG001"}),
        (looped("net_a.zero_grad()", LEARN, STEP), set()),
        # The clear of one optimizer empties what the other one holds of the same network.
        (looped("opt_b.zero_grad()", LEARN, STEP, held=SHARED), set()),
        (looped(f"if {CHANCE}:", f"    {CLEAR}", LEARN, STEP), {"ZG001"}),
    ],
)
def test_what_executions_show(text: str, shown: set[str]) -> None:
    assert codes(text) == shown


def test_both_halves_of_the_law() -> None:
    text = looped(LEARN, STEP)
    (((line, *_), _),) = shown_by_executions(text).faults
    stale, nothing = frozenset({Found((MAIN, line), "ZG001")}), frozenset[Found]()
    assert not any(disagreement(text, lambda files: Answer(stale, nothing)))
    assert not any(disagreement(text, lambda files: Answer(nothing, stale)))
    assert disagreement(text, lambda files: Answer(nothing, nothing)).unreported == shown_by_executions(text).faults
    elsewhere = frozenset({Found((MAIN, 1), "ZG004")})
    assert disagreement(text, lambda files: Answer(elsewhere, stale)).unshown == {(1, "ZG004")}


@settings(max_examples=30)
@given(PROGRAMS)
def test_the_programs_are_closed_and_run(text: str) -> None:
    assert Names(ast.parse(text)).free <= set(dir(builtins))
    shown_by_executions(text)


def test_the_reader_agrees_with_the_executions() -> None:
    """On the programs of `make laws-reader`, fewer of them."""
    found = agreement(examples(60), present_reader)
    assert found.certain > 20
    assert found.shown > 20
    assert (found.unshown, found.unreported) == (0, 0)
