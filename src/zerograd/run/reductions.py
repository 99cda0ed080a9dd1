"""What the loss graphs of a window say together, in full mode: means added up (ZG101), means of unequal counts (ZG104).

Losses of one line are micro-batches of one group when the step stands in the same loop body as the backward, behind a
guard. A loop of its own around the backward may as well go over tasks or heads, whose losses are added on purpose: then
it is certain only if the program itself calls their number accumulation. Losses that fill different parameters are
those of tasks, whatever loop they stand in. And a mean may have been divided before it was taken: it is certain where
the graph shows that it was not.
"""

from collections.abc import Sequence

from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.run.account import Account
from zerograd.run.bytecode import in_one_body
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.losses import is_bare, read
from zerograd.run.settings import called_accumulation
from zerograd.run.sites import user_frame

_GROUPS = 2  # that must agree before anything is certain


class Reductions(Detector):
    codes = ("ZG101", "ZG104")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._added: dict[Site, int] = {}
        self._uneven: dict[Site, int] = {}
        self._tails: dict[Site, int | None] = {}  # the epoch of the last group, if it was uneven
        self._groups: dict[tuple[Site, int], bool] = {}  # whether so many backwards of a line are one group
        self._filled: dict[int, set[int]] = {}  # by account: the slots that the last backward has filled
        self._tasks: set[Site] = set()  # lines of which one step consumes what filled different parameters

    def done_with(self, site: Site) -> bool:
        return True  # where a line goes on alone, as in a routine, there is nothing to compare

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        if self.rules and len(roots) == 1 and roots[0].numel() == 1:
            reading = read(roots[0])
            deposit.reading = reading._replace(factor=reading.factor * _weight(deposit.seed))
            # Where nearly every backward has a step of its own, nobody will ask: see consuming().
            lone = bool(accounts) and all(account.habits.lone() for account in accounts)
            deposit.bare = bool(reading.mean) and not lone and is_bare(roots[0])

    def deposited(self, deposit: Deposit, accounts: Sequence[Account]) -> None:
        for account in accounts:
            window, before = account.window, self._filled.get(account.number)
            again = len(window.deposits) > 1 and window.deposits[-2].site == deposit.site
            if again and before != window.hit:
                self._tasks.add(deposit.site)
            self._filled[account.number] = window.hit

    def gap(self) -> None:
        self._tails.clear()

    def consuming(self, account: Account, step: Event) -> None:
        window = account.window
        sites = {deposit.site for deposit in window.deposits}
        readings = [deposit.reading for deposit in window.deposits if deposit.reading is not None]
        if len(sites) != 1 or len(readings) < 2 or len(readings) != len(window.deposits):
            return
        if window.edited or not all(reading.mean for reading in readings) or account.habits.lone():
            return  # what is left of a batch that was given up is no group: ZG007
        (site,) = sites
        size = len(readings)
        names = {"deposit": window.deposits[-1].event.what, "size": str(size)}
        led = [(step, "uses their sum")]
        if all(reading.factor == 1.0 for reading in readings):
            times = self._added[site] = self._added.get(site, 0) + 1
            if times >= _GROUPS:
                # What another optimizer has stepped on one by one is a batch each, and this one goes at a slower pace.
                certain = self._is_group(account, site) and all(one.settled is None for one in window.deposits)
                self.say("ZG101", site, certain=certain, led=led, **names)
        elif len({round(reading.factor, 9) for reading in readings}) == 1:
            counts = [reading.items for reading in readings if reading.items is not None]
            if len(counts) == size:
                excused = self._is_tail(counts, site, window.deposits[-1].epoch)
                times = self._uneven[site] = self._uneven.get(site, 0) + (len(set(counts)) > 1)
                if len(set(counts)) > 1 and times >= _GROUPS and not excused:
                    told = ", ".join(f"{int(count)}" for count in counts[:4]) + ", ..." * (len(counts) > 4)
                    self.say("ZG104", site, certain=self._is_group(account, site), led=led, counts=told, **names)

    def fed(self, account: Account, step: Event) -> None:
        # A framework runs both, and its windows are groups. What a closure of one's own adds up is its own affair.
        if account.window.deposits and account.window.deposits[-1].site == step.site:
            self.consuming(account, step)

    def _is_tail(self, counts: Sequence[float], site: Site, epoch: int) -> bool:
        """Whether the last one is smaller and the group before was even: so every epoch of a DataLoader may end."""
        before, self._tails[site] = self._tails.get(site), epoch if len(set(counts)) > 1 else None
        return len(set(counts[:-1])) == 1 and counts[-1] < counts[0] and before != epoch

    def _is_group(self, account: Account, site: Site) -> bool:
        """Whether the window is one group, and nobody divides where it cannot be seen: hooks of gradients or steps."""
        deposits = account.window.deposits
        if site in self._tasks or not all(deposit.bare for deposit in deposits):
            return False
        size = len(deposits)
        if (site, size) not in self._groups:
            frame = user_frame()
            grouped = in_one_body(frame, site) or called_accumulation(frame, size) is not None
            self._groups[site, size] = grouped and not account.slots.hooked()
        return self._groups[site, size]


def _weight(seed: Tensor | None) -> float:
    """What a backward multiplies its loss by. One that lies on a device is not waited for."""
    return float(seed) if seed is not None and type(seed) is Tensor and seed.device.type == "cpu" else 1.0
