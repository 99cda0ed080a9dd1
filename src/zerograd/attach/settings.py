"""What the launcher tells the processes it starts."""

from typing import NamedTuple

VARIABLE = "ZEROGRAD_RUN"


class Settings(NamedTuple):
    verdicts: str = ""  # a folder in which a process with a certain fault leaves a file
    folder: str = ""  # where `zerograd run` was typed: paths are shown relative to it
