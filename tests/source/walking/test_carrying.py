"""What is known of tests goes into the functions that are called, and comes back."""

import ast

from zerograd.source.counting.tests import Atom, Not
from zerograd.source.lowering.skeleton import Call
from zerograd.source.names.scopes import Function, Scope
from zerograd.source.walking.carrying import carried, returned

NODE = ast.parse("def callee(scaler): ...").body[0]
assert isinstance(NODE, ast.FunctionDef)


def call(*arguments: tuple[str, str], inside: bool = False) -> Call:
    caller = Scope()
    return Call(Function(NODE, Scope(caller if inside else None)), caller, arguments, shares_self=False)


def test_answers_travel_with_arguments() -> None:
    it = call(("scaler", "self.scaler"))
    inside = carried(it, frozenset({("self.scaler is None", True), ("flag", True)}))
    assert inside == {("scaler is None", True)}
    assert returned(it, inside) == {("self.scaler is None", True)}


def test_a_function_inside_sees_what_the_one_around_it_knows() -> None:
    it = call(inside=True)
    assert carried(it, frozenset({("flag", True)})) == {("flag", True)}
    assert returned(it, frozenset({("other is None", False)})) == {("other is None", False)}


def test_a_place_in_a_window_is_known_under_the_name_it_is_told_by() -> None:
    it = call()._replace(places=(("last", Atom("last@1%N")), ("waits", Not(Atom("last@1%N")))))
    assert carried(it, frozenset({("last@1%N", True)})) == {("last", True), ("waits", False)}
    assert carried(it, frozenset()) == frozenset()
