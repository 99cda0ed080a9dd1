"""Which definition a name means, as Python itself decides it."""

import ast
import symtable

import pytest

from laws.reader.corpus import cases
from laws.reader.metamorphic import parses
from laws.reader.rewrites.scopes import Names

SAMPLE = [case for case in cases()[::40] if parses(case)]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_what_a_scope_binds_is_what_python_says(case) -> None:
    names = Names(ast.parse(case.text))
    ours = sorted(name for scope, name in {(id(one.scope), one.name) for one in names.bindings})
    assert ours == sorted(_bound(symtable.symtable(case.text, "program.py", "exec")))


def _bound(table: symtable.SymbolTable):
    module = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_local() and not symbol.get_name().startswith(".") and (module or not symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _bound(child)


def test_a_global_is_the_modules_and_a_class_body_is_not_seen_from_its_methods() -> None:
    text = "x = 0\nclass A:\n    x = 1\n    def m(self):\n        global y\n        y = x\nprint(y)"
    names = Names(ast.parse(text))
    uses = {(type(one.scope.node).__name__, one.name): len(found) for one, found in names.bindings.items()}
    assert uses == {("Module", "x"): 2, ("Module", "A"): 1, ("ClassDef", "x"): 1, ("ClassDef", "m"): 1,
                    ("FunctionDef", "self"): 1, ("Module", "y"): 3}  # fmt: skip
