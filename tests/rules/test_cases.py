"""More programs, as people write them: the same answer from source and from the run, at the marked lines."""

import warnings

import pytest

from rules.programs import Program, audited, checked, lost, programs

ALL = [*programs("legal.md"), *programs("faults.md")]
FAMILIES = ("faults_source", "cut", "groups", "kept", "rollouts", "doubted", "retained", "starved", "wrappers")
FAMILIES += ("turns", "wolf", "harmless", "forms", "rivals", "accumulated", "scaled", "owners", "leaks")
FAMILIES += ("severed", "carried")
SOURCE = [*ALL, *(program for name in FAMILIES for program in programs(f"{name}.md"))]
LOST = lost()


@pytest.mark.parametrize("program", SOURCE, ids=lambda program: program.name)
def test_source(program: Program) -> None:
    """Every marked line is certain but those that are listed as lost, and a line of the list is not."""
    assert checked(program) == program.expected - LOST.get(program.name, set())


def test_only_faulty_lines_are_lost() -> None:
    for name, lines in LOST.items():
        (program,) = (one for one in SOURCE if one.name == name)
        assert lines, name
        assert lines <= program.expected, name


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_run(program: Program) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about the loops we wrote to be odd
        assert audited(program) == program.expected_in_run
