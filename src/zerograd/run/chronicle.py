"""What a run writes down while it is watched: every move of the books, in order, with the numbers that cost nothing.

A backward and a step are held back until they are over, because only then it is known how long they took. A number that
lies on a device is read when it has come, so that nobody waits for it, and written as a line of its own.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from threading import get_ident
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.core.findings import Finding
from zerograd.run.account import Account
from zerograd.run.books import Members
from zerograd.run.naming import names
from zerograd.run.posted import Post
from zerograd.trace.coverage import Coverage
from zerograd.trace.findings import to_line

Numbers = tuple[tuple[str, float], ...]
Line = Mapping[str, object]
_HELD = (Kind.DEPOSIT, Kind.CONSUME)
SKIPPED = "skipped"  # the number on a CONSUME that consumed nothing: there it is, or it is not


class Chronicle:
    """Nothing is written where nobody asked for a trace: then every call returns at once."""

    def __init__(self, log: Callable[..., None] | None, *, full: bool) -> None:
        self._log, self._full = log, full
        # A function that the user gave hears of events; only a file takes lines of other kinds.
        self._note: Callable[[Line], None] | None = getattr(log, "note", None)
        self._begun: dict[tuple[int, Kind], float] = {}
        self._optimizers: dict[str, Line] = {}
        self.forked()

    def forked(self) -> None:
        """Begin another file. What it must say first is said with its first event: it may never have one."""
        self._untold = list(self._optimizers.values())
        self._held: tuple[Event, int | None] | None = None
        self._written = 0
        self._slot: str | None = None  # whose event was told last
        self._sets: dict[frozenset[int], int] = {}
        self._found: dict[tuple[object, ...], int] = {}
        self._post = Post()

    @property
    def is_kept(self) -> bool:
        """Whether somebody wants to be told what happens."""
        return self._log is not None

    # Events

    def opened(self, account: Account, optimizer: Optimizer) -> Callable[[Members, Event], None] | None:
        """An account was opened. Returns whom its books shall tell of their moves."""
        if self._log is None:
            return None
        slot = _slot(account)
        if self._note is not None:
            groups = [[*group["params"]] for group in optimizer.param_groups]
            known = iter(names([one for group in groups for one in group]))
            self._introduce({"optimizer": slot, "groups": [[next(known) for _ in group] for group in groups]}, account)
        latest: list[Event] = []

        def moved(members: Members, event: Event) -> None:
            if members is not None and not members:
                return
            again = event.kind is Kind.DEPOSIT and bool(latest) and latest[0] is event
            if event.kind is Kind.DEPOSIT:
                latest[:] = [event]
            # The books correct themselves: what had been cleared unseen is cleared, and the deposit stands alone.
            numbers = (("again", 1.0),) if again else event.numbers
            self._hold(event._replace(slot=slot, numbers=numbers), self._set(members))

        return moved

    def named(self, account: Account) -> None:
        """It is stepped for the first time, by a line that may call it otherwise than the one that cleared it."""
        known = self._optimizers.get(_slot(account))
        if known is not None and known.get("called", account.name) != account.called:
            self._introduce(known, account)

    def _introduce(self, line: Line, account: Account) -> None:
        """With the name that it has now. Of two such lines readers believe the last."""
        named = {**line, "called": account.called} if account.called != account.name else dict(line)
        self._optimizers[_slot(account)] = named
        self._untold.append(named)

    def begins(self, kind: Kind) -> None:
        """A backward or a step begins."""
        if self._log is not None:
            self._begun[get_ident(), kind] = time.perf_counter()

    def ends(self, kind: Kind, numbers: Callable[[], Numbers] = tuple) -> None:
        """It is over. `numbers`: of what it did last, asked for only where they are written."""
        if self._held is not None and self._held[0].kind is kind:
            event, hit = self._held
            begun = self._begun.get((get_ident(), kind))
            took = () if begun is None else (("took", round(time.perf_counter() - begun, 6)),)
            self._held = event._replace(numbers=event.numbers + numbers() + took), hit
        self._release()
        if kind is Kind.CONSUME:
            self._post.collect()

    def _hold(self, event: Event, hit: int | None) -> None:
        self._release()
        self._held = event, hit
        if event.kind not in _HELD:
            self._release()

    def _release(self) -> None:
        if self._held is None or self._log is None:
            return
        (event, hit), self._held = self._held, None
        self._written += 1
        self._slot = event.slot
        if self._note is None:
            self._log(event)
            return
        while self._untold:
            self._note(self._untold.pop(0))
        self._log(event, hit)

    def _set(self, members: Members) -> int | None:
        if members is None or self._note is None:
            return None
        key = frozenset(members)
        if key not in self._sets:
            self._sets[key] = len(self._sets)
            self._untold.append({"set": self._sets[key], "slots": sorted(key)})
        return self._sets[key]

    # Numbers

    @property
    def ordinal(self) -> int:
        """The number of the event that is being told, or was told last."""
        return self._written if self._held is not None else max(0, self._written - 1)

    def later(self, ordinal: int, numbers: Numbers) -> None:
        """Numbers of an event that was written before."""
        if self._note is not None and numbers:
            self._note({"of": ordinal, "numbers": dict(numbers)})

    def measured(self, name: str, value: Any) -> Numbers:
        """A number on a CPU at once. One on a device only in full mode, and later: to read it is to wait for it."""
        if self._log is None or type(value) is not Tensor or value.numel() != 1:
            return ()
        if value.device.type == "cpu":
            return ((name, float(value)),)
        if self._full and self._note is not None and not _captured(value):
            self._post.send([value], partial(self._arrived, self._written, name))
        return ()

    def clipped(self, clip: Event, norm: object, limit: float) -> Event:
        """The clip with its numbers."""
        if self._log is None:
            return clip
        return clip._replace(numbers=(*self.measured("norm", norm), ("limit", float(limit))))

    def scaled(self, step: Event, scaler: Any, optimizer: Optimizer) -> Event:
        """The step with the loss scale of the scaler that it goes through, and whether its kernel will skip it."""
        if self._log is None:
            return step
        # torch 2.13 amp/grad_scaler.py: a fused optimizer is always called, and told by this whether to do anything.
        found = self.measured(SKIPPED, getattr(optimizer, "found_inf", None))
        skipped = found if found and found[0][1] else ()
        return step._replace(numbers=step.numbers + skipped + self.measured("scale", getattr(scaler, "_scale", None)))

    def _arrived(self, ordinal: int, name: str, numbers: list[float]) -> None:
        if numbers[0] or name != SKIPPED:
            self.later(ordinal, ((name, numbers[0]),))

    # What is not told

    def covers(self, coverage: Coverage, *, last: bool = False) -> None:
        """Some steps are not judged. Said at the 1st, 2nd, 4th, 8th ... of them, and at the end."""
        count = coverage.missed
        if self._note is not None and count and (last or count & (count - 1) == 0):
            self._note({"steps": coverage.steps, "unaudited": dict(coverage.unaudited)})

    # Findings

    def found(self, finding: Finding) -> None:
        if self._note is None:
            return
        key = (finding.code, finding.site, finding.certainty)
        first = key not in self._found
        number = self._found.setdefault(key, len(self._found))
        slot = self._held[0].slot if self._held is not None else self._slot
        told = {"slot": slot, **to_line(finding)} if first else {}
        self._note({"finding": number, "event": self.ordinal, **told})

    def finish(self) -> None:
        """The audit stops."""
        self._release()
        self._post.collect(all_of_them=True)


def _slot(account: Account) -> str:
    return f"{account.name}#{account.number}"


def _captured(value: Tensor) -> bool:
    """Whether a graph is being captured: a copy of ours would be replayed with it."""
    return value.device.type == "cuda" and torch.cuda.is_current_stream_capturing()
