"""The figures of law 1, on readers whose answers are known; and the law itself, for the codes that are held to it."""

import ast

import pytest

from laws.reader.corpus import MOVED, Case, cases
from laws.reader.metamorphic import changes, originals, parses, score
from laws.reader.readers import MAIN, Answer, Files, Found, present_reader
from laws.reader.rewrites import REWRITES, ROLES_RENAMED

LOOP = "for x in loader:\n    loss.backward()\n    optimizer.step()\n"
CASES = [Case("faulty", LOOP, frozenset({(3, "ZG001")})), Case("correct", "optimizer = make()\n" + LOOP, frozenset())]
NOTHING: frozenset[Found] = frozenset()


def by_structure(files: Files) -> Answer:
    """Finds every call of step() in a program that binds nothing."""
    binds = any(isinstance(node, ast.Assign) for node in ast.parse(files[MAIN]).body)
    steps = (
        Found((name, node.lineno), "ZG001")
        for name, text in files.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step"
    )
    return Answer(frozenset() if binds else frozenset(steps), NOTHING)


def by_words(files: Files) -> Answer:
    """Finds every line that says optimizer.step(), where nothing is made before it."""
    lines = enumerate(files[MAIN].splitlines(), start=1)
    said = frozenset(Found((MAIN, at), "ZG001") for at, line in lines if "optimizer.step()" in line)
    return Answer(said if "= make" not in files[MAIN] else NOTHING, NOTHING)


def test_a_reader_that_goes_by_structure_keeps_what_is_moved() -> None:
    figures = score(changes(originals(CASES, by_structure), REWRITES["into helpers"], by_structure))
    assert (figures.programs, figures.kept, figures.had, figures.new, figures.accused) == (2, 1, 1, 0, 0)
    assert figures.meets(roles_renamed=False)


def test_a_reader_that_goes_by_words_loses_it() -> None:
    figures = score(changes(originals(CASES, by_words), REWRITES["into helpers"], by_words))
    assert (figures.kept, figures.vanished, figures.share) == (0, 1, 0.0)
    assert figures.by_code == {"ZG001": (1, 0, 0)}
    assert not figures.meets(roles_renamed=False)


def test_a_correct_program_that_is_accused_is_counted() -> None:
    # The alias takes the word away that excused the correct program.
    rewrite = REWRITES["through a tuple"]
    figures = score(changes(originals(CASES, by_words), rewrite, by_words))
    assert (figures.programs, figures.new, figures.accused, figures.correct) == (1, 1, 1, 1)


def test_codes_restrict_the_count() -> None:
    programs = originals(CASES, by_structure, {"ZG002"})
    assert [one.certain for one in programs] == [frozenset(), frozenset()]


NOT_MET = {"counted while"}  # an undivided loss (ZG101) is lost under it: benchmarks/results/reader.md


@pytest.mark.parametrize("name", [name for name in REWRITES if name not in NOT_MET])
def test_a_rewrite_changes_no_certain_finding_of_the_codes_that_moved(name: str) -> None:
    """On a sample: `make laws-reader` asks all programs."""
    programs = originals(filter(parses, cases()[::24]), present_reader, MOVED)
    figures = score(changes(programs, REWRITES[name], present_reader, MOVED))
    assert figures.meets(roles_renamed=name in ROLES_RENAMED), figures
