"""Steps that no hook sees: those of a CUDA graph that is replayed.

Whoever knows what is in a graph announces its replay (trace/announcing.py): then it is a step like any other. Of any
other graph its capture has shown whether it deposits or steps: then its replays are counted, as not audited, and the
books begin anew behind each.
"""

import contextlib
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from torch.optim import Optimizer

from zerograd.core.events import Event, Kind
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.retelling import enter
from zerograd.run.sites import user_site
from zerograd.run.thread import Capture
from zerograd.run.watcher import Watcher


class Replays:
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._captures: WeakKeyDictionary[object, Capture] = WeakKeyDictionary()

    @contextlib.contextmanager
    def announced(self, optimizers: Sequence[object], events: Sequence[Event]) -> Iterator[None]:
        """What happens inside is seen by nobody; what it amounts to is `events`."""
        watcher, known = self._watcher, [one for one in optimizers if isinstance(one, Optimizer)]
        steps = any(event.kind is Kind.CONSUME for event in events)
        accounts = [watcher.accounts.taken(one) if steps else watcher.accounts.own(one) for one in known]
        concerned = [account for account in accounts if account is not None]
        watcher.pace.leave()
        for account in concerned:
            account.settle()
        watcher.mine.aside += 1
        try:
            yield
        except BaseException:
            for account in concerned:
                account.reopen()  # nobody can say how far it came
            raise
        finally:
            watcher.mine.aside -= 1
        site = user_site()
        for event in events:
            self._enter(concerned, event if event.site is not None else event._replace(site=site))
        for account in concerned:
            account.take_as_told()
        watcher.turn()
        watcher.judge.flush()

    def _enter(self, accounts: Sequence[Account], event: Event) -> None:
        watcher = self._watcher
        clock = watcher.accounts.clock
        deposit = Deposit(event, moment=clock.tick(), epoch=watcher.epoch, loss=None)
        watcher.backwards += event.kind is Kind.DEPOSIT
        for account in accounts:
            if event.kind is Kind.CONSUME:
                watcher.steps += 1
                watcher.mine.steps += 1
                watcher.slots += account.newly_stepped()
                watcher.judge.announced(account, event)
            enter(account, event, deposit, clock=clock)

    # Graphs that nobody announces

    def capture_begins(self, graph: object) -> None:
        """What follows is written down by the device and not done."""
        mine = self._watcher.mine
        self._watcher.pace.leave()
        mine.aside += 1
        mine.capture = self._captures[graph] = Capture()

    def capture_ended(self) -> None:
        mine = self._watcher.mine
        mine.aside = max(0, mine.aside - 1)
        mine.capture = None
        for account in self._watcher.accounts.ours():
            account.reopen()  # there are gradients now, and nothing in them

    def replayed(self, graph: object) -> None:
        """A graph was replayed, by whomever."""
        watcher, capture = self._watcher, self._captures.get(graph)
        if watcher.mine.aside or capture is None or not (capture.backwards or capture.steps):
            return
        watcher.pace.leave()
        watcher.backwards += capture.backwards
        watcher.steps += capture.steps
        if capture.steps:
            watcher.not_audited("replayed from a CUDA graph", capture.steps)
        for account in watcher.accounts.ours():
            account.reopen()
            account.fed_by = "fed by a CUDA graph" if capture.backwards and not capture.steps else ""
