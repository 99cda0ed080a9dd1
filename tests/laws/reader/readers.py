"""What a reader is asked: a program of one or several files; and how it answers: codes at places, certain or
possible."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.source.check import check_text
from zerograd.source.project.files import Project

MAIN = "program.py"
Files = Mapping[str, str]  # by name, the text; MAIN is the one that is judged
Place = tuple[str, int]  # file and line


class Found(NamedTuple):
    place: Place
    code: str


class Answer(NamedTuple):
    certain: frozenset[Found]  # errors and warnings; notes are left out
    possible: frozenset[Found]


Reader = Callable[[Files], Answer]


def present_reader(files: Files) -> Answer:
    """What `check_text` says of the program, other files being read where it imports them."""
    return _in_folder(files, _checked)


def _in_folder(files: Files, told: Callable[[str, str], list[Finding]]) -> Answer:
    if list(files) == [MAIN]:
        return _answer(told(files[MAIN], ""))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        return _answer(told(files[MAIN], folder))


def _checked(text: str, folder: str) -> list[Finding]:
    return check_text(text, str(Path(folder) / MAIN), project=Project(folder) if folder else None)


def _answer(told: list[Finding]) -> Answer:
    found = [one for one in told if one.severity is not Severity.NOTE]
    return Answer(*(
        frozenset(Found((Path(one.site.path).name, one.site.line), one.code) for one in found if one.certainty is sure)
        for sure in (Certainty.CERTAIN, Certainty.POSSIBLE)
    ))  # fmt: skip
