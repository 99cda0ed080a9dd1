"""What a loop shows by doing it again, and a program that steps once shows when it ends.

A step that finds nothing may be a warm-up, or come behind a guard that has cleared what is not finite. But if no step
of an optimizer ever finds anything, and before each a gradient was cleared that was sound (ZG002), or a loss was
computed and no gradient asked for (ZG003), then the one step that a test makes is as wrong as a thousand. So is the
only clip, if it came before the only backward (ZG302).
"""

from collections.abc import Iterator

from zerograd.core.events import Event, Site
from zerograd.core.findings import Certainty, Finding
from zerograd.core.judgement import Verdict
from zerograd.core.machine import HOLLOW, Content, State
from zerograd.rules import REGISTRY
from zerograd.rules.telling import tell
from zerograd.run.account import Account

_FEW = 4


class SingleSteps:
    def __init__(self) -> None:
        self._starved: dict[int, list[Finding] | None] = {}  # by account: of each step, if all do; None: say nothing
        self._fed: set[Site | None] = set()  # lines at which some step has found something
        self._blind: dict[int, Finding] = {}  # by account: a clip that found nothing, and then came a backward
        self._unclipped: list[Finding] = []  # the same, once a step has consumed it
        self._excused: list[Finding] = []  # the same, where another clip came before the step, or no step at all

    def consuming(self, account: Account, step: Event, *, hooked: bool, left_a_loss: bool) -> bool:
        """A step is about to read. Whether it starves, and is told at the end.

        `left_a_loss`: one was computed since the last clear or step, and left at that.
        """
        if (blind := self._blind.pop(account.number, None)) is not None:
            (self._unclipped if account.clipped_by is None else self._excused).append(blind)
        if account.habits.nourished:
            self._fed.add(step.site)
            self._starved.pop(account.number, None)
            return False
        content = account.standing().content
        code = "ZG002" if content is Content.LOST else "ZG003"
        sound = _cleared_for_no_reason(account) if content is Content.LOST else left_a_loss
        if hooked or not sound or content not in HOLLOW:
            self._starved[account.number] = None
            return False
        starved = State(content if content is Content.LOST else Content.EMPTY)
        told = tell(Verdict(REGISTRY[code], step, starved, certain=True), account.standing().trail)
        known = self._starved.setdefault(account.number, [])
        if known is None or len(known) >= _FEW:
            return False  # what goes on and on is judged as in any loop
        known.append(told)
        return True

    def clipped_first(self, account: Account, told: Finding) -> None:
        """A backward is over that came behind a clip which had found nothing: to be told at the end, and not before."""
        self._excused += filter(None, [self._blind.get(account.number)])
        self._blind[account.number] = told

    def ended(self) -> Iterator[Finding]:
        """What was not told before, and whether it is certain now."""
        starved = [one for known in self._starved.values() for one in known or () if one.site not in self._fed]
        for finding in (*starved, *self._unclipped):
            yield finding._replace(certainty=Certainty.CERTAIN)
        for finding in (*self._excused, *self._blind.values()):
            yield finding._replace(certainty=Certainty.POSSIBLE)


def _cleared_for_no_reason(account: Account) -> bool:
    """Whether what was cleared unread was a gradient like any other, which nobody has used by hand."""
    window = account.window
    return bool(window.sizes) and not (account.closure.moved() or window.edited or window.erased_for_cause())
