"""One walk over a file finds its functions, what they name, and where they jump."""

import ast

from zerograd.source.project.index import Assigned, Class, File, Function, Imported, dotted_name, last_name

TEXT = """\
import torch.nn as nn
from .losses import dice

STEPS = 4


class Trainer:
    rate = 0.1

    def step(self):
        if self.done:
            return
        self.optimizer.step()

    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        self.kept = value


def outer():
    def inner():
        yield 1
    return inner


def forward(thing):
    return thing.step()
"""


def read() -> File:
    return File("a.py", TEXT, ast.parse(TEXT))


def test_the_top_level_says_what_its_names_mean() -> None:
    definitions = read().definitions
    assert definitions["nn"] == Imported("torch.nn", "")
    assert definitions["dice"] == Imported(".losses", "dice")
    assert isinstance(definitions["STEPS"], Assigned)
    assert isinstance(definitions["Trainer"], Class)
    assert isinstance(definitions["outer"], Function)


def test_a_class_has_its_methods_setters_and_attributes() -> None:
    (cls,) = read().classes
    assert sorted(cls.methods) == ["size", "step"]
    assert list(cls.setters) == ["size"]
    assert list(cls.attributes) == ["rate"]


def test_a_function_knows_what_it_names_and_what_stands_in_it() -> None:
    functions = {function.name: function for function in read().functions}
    assert {"done", "optimizer", "step"} <= functions["step"].attributes
    assert functions["outer"].captures
    assert functions["inner"].generates
    assert functions["inner"].outer is functions["outer"]
    assert functions["forward"].forwards
    assert not functions["step"].forwards


def test_a_function_that_says_nothing_but_what_it_is_for_calls_nothing() -> None:
    (function,) = File("a.py", 'def f():\n    """Later."""\n', ast.parse('def f():\n    """Later."""\n')).functions
    assert not function.forwards


def test_a_branch_that_jumps_is_marked() -> None:
    file = read()
    (branch,) = [node for node in ast.walk(file.tree) if isinstance(node, ast.If)]
    assert branch in file.jumping


def test_who_calls_an_acting_function_acts() -> None:
    text = "def clear(o):\n    o.zero_grad()\n\ndef caller(o):\n    clear(o)\n\ndef other(o):\n    print(o)\n"
    file = File("b.py", text, ast.parse(text))
    assert {one.name for one in file.acting(frozenset({"zero_grad"}), set())} == {"clear", "caller"}


def test_names() -> None:
    call = ast.parse("a.b.c(1)", mode="eval").body
    assert isinstance(call, ast.Call)
    assert last_name(call) == "c"
    assert dotted_name(call.func) == "a.b.c"
    assert dotted_name(call) == ""


def test_a_function_with_nothing_but_a_docstring_calls_nothing() -> None:
    file = File("a.py", "", ast.parse('def later():\n    """To be written."""\n'))
    assert not file.functions[0].forwards
