"""What the loss graphs of a window say together, in full mode: means added up (ZG101), means of unequal counts (ZG104).

Losses of one line are micro-batches of one group when the step stands in the same loop body as the backward, behind a
guard. A loop of its own around the backward may as well go over tasks or heads, whose losses are added on purpose: then
nothing is certain.
"""

import dis
from collections.abc import Sequence
from types import FrameType

from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.losses import read
from zerograd.run.sites import user_frame

_GROUPS = 2  # that must agree before anything is certain


class Reductions(Detector):
    codes = ("ZG101", "ZG104")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._added: dict[Site, int] = {}
        self._uneven: dict[Site, int] = {}

    def done_with(self, site: Site) -> bool:
        return False  # every loss is read

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence[Account], *, kept: bool) -> None:
        if self.rules and len(roots) == 1 and roots[0].numel() == 1:
            deposit.reading = read(roots[0])

    def consuming(self, account: Account, step: Event) -> None:
        window = account.window
        sites = {deposit.site for deposit in window.deposits}
        readings = [deposit.reading for deposit in window.deposits if deposit.reading is not None]
        if len(sites) != 1 or len(readings) < 2 or len(readings) != len(window.deposits):
            return
        if window.edited or not all(reading.mean for reading in readings):
            return
        (site,) = sites
        # What another optimizer has stepped on one by one is a batch each, and this one goes at a slower pace.
        grouped = in_one_body(user_frame(), site) and all(one.settled is None for one in window.deposits)
        names = {"deposit": window.deposits[-1].event.what, "size": str(len(readings))}
        led = [(step, "the step that consumes them")]
        if all(reading.factor == 1.0 for reading in readings):
            times = self._added[site] = self._added.get(site, 0) + 1
            if times >= _GROUPS:
                self.say("ZG101", site, certain=grouped, led=led, **names)
        elif len({round(reading.factor, 9) for reading in readings}) == 1:
            counts = [reading.items for reading in readings]
            if None not in counts and len(set(counts)) > 1:
                times = self._uneven[site] = self._uneven.get(site, 0) + 1
                if times >= _GROUPS:  # the last micro-batch of one epoch may well be smaller
                    told = ", ".join(f"{int(count or 0)}" for count in counts[:4]) + ", ..." * (len(counts) > 4)
                    self.say("ZG104", site, certain=True, led=led, counts=told, **names)


def in_one_body(frame: FrameType | None, deposit: Site) -> bool:
    """Whether the line of the backward and the line that runs in `frame` stand in the body of the same loop."""
    if frame is None:
        return False
    here = [start for start, _, line in frame.f_code.co_lines() if line == deposit.line]
    if not here or here[0] >= frame.f_lasti:
        return False
    jumps = [(one.offset, one.argval) for one in dis.get_instructions(frame.f_code) if "BACKWARD" in one.opname]
    # A loop around the backward that is over before the step: its head is never jumped to from behind the step.
    around = {target for offset, target in jumps if target <= here[0] < offset < frame.f_lasti}
    return around <= {target for offset, target in jumps if offset > frame.f_lasti}
