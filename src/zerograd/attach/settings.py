"""What the launcher tells the processes it starts."""

from typing import NamedTuple

VARIABLE = "ZEROGRAD_RUN"


class Settings(NamedTuple):
    folder: str = ""  # where `zerograd run` was typed: paths are shown relative to it
    desk: str = ""  # a folder in which processes leave word for the launcher, while there is one
    watched: bool = False  # the launcher draws a live line: it wants to know every step
    run: str = ""  # which run it is: what each of its processes writes says so
    live: bool = False  # the launcher draws a panel: it wants to know the last loss and norm
    trace: str = ""  # a folder in which each process writes its trace
    possible: bool = False  # show what a doubt may excuse, too
    notes: bool = False  # show what only costs time or memory, too
    mode: str = "lean"  # "full" reads losses and norms as well
    sample: int = 1  # look at two steps of every so many
