"""The audit accuses no correct loop: however it is written, and whenever the audit looks at it.

The gate takes a part of the programs, and tries each in one way, all ways in turn; those of styles.md in several.
`make campaign` tries every program in every way.
"""

import os
from collections.abc import Iterator

import pytest

from laws.correct import Unfit, Watch, accusations, compact, correct_programs, longer, run, ticking
from rules.programs import Program

WHOLE = os.environ.get("HYPOTHESIS_PROFILE") == "campaign"
SEVERAL = 3
WATCHES = [Watch("lean"), Watch("full"), *(Watch("lean", sample) for sample in range(2, 11)), Watch("full", 3)]
EIGHTHS = (1, 3, 4, 6)  # of a run, where an audit comes or goes
# Correct by source alone, or by a lean run alone: what is said of them is true.
EXCEPT = {
    # Nobody divides by the number of micro-batches: in full mode that is what ZG101 is about.
    ("legal_run: the pace of an accumulation changes, beside a look at the loss", "full"),
    # Whoever comes later cannot know that an optimizer has held these parameters once.
    ("legal_run: a group of parameters is removed", "middle"),
    # They train what no optimizer holds.
    *(("retained: features of a pass that is computed again", how) for how in ("lean", "full", "middle")),
    *(("retained: a closure that goes through what the function around it was handed", how)
      for how in ("lean", "full", "middle")),
}  # fmt: skip


def chosen_programs() -> list[Program]:
    def is_chosen(number: int, name: str) -> bool:
        return WHOLE or name.startswith(("styles", "ZG")) or number % 6 == 0

    return [one for number, one in enumerate(correct_programs()) if is_chosen(number, one.name)]


PROGRAMS = chosen_programs()


def ways(program: Program) -> Iterator[tuple[Program, Watch]]:
    """The program in every way to write it and to watch it. Unfit: it does not run."""
    name, text = program.name, longer(program.text)
    ticked, ticks = Program(name, ticking(text)), [0]
    run(ticked.text, lambda: ticks.append(0))
    for watch in WATCHES:
        if (name, watch.mode) not in EXCEPT:
            yield Program(name, text), watch
            yield Program(name, compact(text)), watch
    for part in EIGHTHS if len(ticks) > 8 and (name, "middle") not in EXCEPT else ():
        yield ticked, Watch("lean", begin=part * len(ticks) // 8)
        yield ticked, Watch("full", end=part * len(ticks) // 8)


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=[one.name for one in PROGRAMS])
def test_a_correct_program_is_accused_of_nothing(number: int) -> None:
    program = PROGRAMS[number]
    try:
        known = list(ways(program))
    except Unfit:  # a part of a program, or one that needs what is not there
        return
    several = min(len(known), SEVERAL if program.name.startswith("styles") else 1)
    turn = [known[(number * 5 + one * 11) % len(known)] for one in range(several)]
    for written, watch in known if WHOLE else turn:
        found = [f"{finding} [{watch}]" for finding in accusations(written, watch)]
        assert not found, written.text
