"""What one thread is in the middle of: a backward, a step, a scaler's step."""

import threading
from typing import Any, NamedTuple

from zerograd.core.events import Event
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.slots import Look
from zerograd.run.stepping import Stepping


class Backward(NamedTuple):
    """A backward in progress: what lay in each account when it began."""

    deposit: Deposit
    before: list[tuple[Account, Look]]


class Thread(threading.local):
    def __init__(self) -> None:
        self.depth = 0  # backwards inside backwards: reentrant checkpointing
        self.steps = 0
        self.backwards = 0
        self.stepping = Stepping()
        self.step: Event | None = None  # the step whose closure may be running
        self.scaler: Any = None  # whose step() is running
        self.unfollowed: list[Account] = []  # stepped inside the backward that is running
        self.reduced = False  # a collective ran since the last backward: somebody may average by hand
        self.early: list[Deposit] = []  # backwards since the last clear, for an account that is opened only now
