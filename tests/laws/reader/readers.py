"""What a reader is asked: a program of one or several files; and how it answers: codes at places, certain or
possible."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from zerograd.core.findings import Certainty, Severity
from zerograd.source.check import check_text
from zerograd.source.lowering.library import Library

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
    """What `check_text` says of the program today, other files being read where it imports them."""
    if list(files) == [MAIN]:
        return _answer(files, "")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        return _answer(files, folder)


def _answer(files: Files, folder: str) -> Answer:
    library = Library(folder) if folder else None
    path = str(Path(folder) / MAIN) if folder else MAIN
    told = [one for one in check_text(files[MAIN], path, library=library) if one.severity is not Severity.NOTE]
    return Answer(*(
        frozenset(Found((Path(one.site.path).name, one.site.line), one.code) for one in told if one.certainty is sure)
        for sure in (Certainty.CERTAIN, Certainty.POSSIBLE)
    ))  # fmt: skip
