"""More programs, as people write them: the same answer from source and from the run, at the marked lines."""

import warnings

import pytest

from rules.programs import Program, audited, checked, programs

ALL = [*programs("legal.md"), *programs("faults.md")]
FAMILIES = ("faults_source", "cut", "groups", "kept", "rollouts", "doubted", "retained", "starved", "wrappers")
FAMILIES += ("turns", "wolf", "harmless", "forms", "rivals", "accumulated", "scaled", "owners", "leaks")
FAMILIES += ("severed", "carried")
SOURCE = [*ALL, *(program for name in FAMILIES for program in programs(f"{name}.md"))]


@pytest.mark.parametrize("program", SOURCE, ids=lambda program: program.name)
def test_source(program: Program) -> None:
    assert checked(program) == program.expected


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_run(program: Program) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about the loops we wrote to be odd
        assert audited(program) == program.expected_in_run
