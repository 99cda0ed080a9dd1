"""What one thread is in the middle of: a backward, a step, a scaler's step."""

import threading
from typing import Any, NamedTuple

from zerograd.core.events import Event
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.routine import Routine
from zerograd.run.slots import Look
from zerograd.run.stepping import Stepping
from zerograd.run.work import Work, nodes_made


class Backward(NamedTuple):
    """A backward in progress: what lay in each account when it began."""

    deposit: Deposit
    before: list[tuple[Account, Look]]


class Capture:
    """What a CUDA graph was seen to do while it was captured."""

    def __init__(self) -> None:
        self.backwards = self.steps = 0


class Thread(threading.local):
    def __init__(self) -> None:
        self.depth = 0  # backwards inside backwards: reentrant checkpointing
        self.steps = 0
        self.backwards = 0
        self.asked = 0  # calls of autograd.grad()
        self.astray = 0  # backwards that reached no leaf: of a loss that was detached
        self.stepping = Stepping()
        self.step: Event | None = None  # the step whose closure may be running
        self.scaler: Any = None  # whose step() is running
        self.unfollowed: list[Account] = []  # stepped inside the backward that is running
        self.reduced = False  # a collective ran since the last backward: somebody may average by hand
        self.early: list[Deposit] = []  # backwards since the last clear, for an account that is opened only now
        self.gap = False  # there were steps of this thread at which nobody looked
        self.aside = 0  # blocks whose work is told by others, or is not done but captured: nobody looks
        self.capture: Capture | None = None
        self.routine = Routine()

    def work(self) -> Work:
        return Work(threading.get_ident(), nodes_made(), self.backwards - self.astray + self.asked)

    def first_window(self) -> list[Deposit]:
        """What an account that is opened only now takes for its own.

        What other optimizers have consumed may never have been meant for it, unless there is nothing else.
        """
        return [deposit for deposit in self.early if deposit.settled is None] or list(self.early)

    def captured(self, *, backwards: int = 0, steps: int = 0) -> None:
        """Something happens aside. If a graph is being captured, its replays will do it."""
        if self.capture is not None:
            self.capture.backwards += backwards
            self.capture.steps += steps
