"""What an idiom rule asks of a run: to be told what happens, in the order in which it happens."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from zerograd.core.events import Event, Site
from zerograd.core.findings import Finding, Related
from zerograd.rules.rule import Rule
from zerograd.rules.telling import answer, note
from zerograd.run.deposit import Deposit

if TYPE_CHECKING:  # the account holds a window and knows no detector
    from zerograd.run.account import Account


class Detector:
    """Deaf to everything. A detector overrides what it needs to hear."""

    codes: tuple[str, ...] = ()
    tells: tuple[type, ...] = ()  # the kinds of facts of the world that it tells of; the rules that ask for them judge

    def __init__(self, rules: Mapping[str, Rule], report: Callable[[Finding], None]) -> None:
        asking = [code for code, rule in rules.items() if rule.asks is not None and rule.asks.about in self.tells]
        self.rules = {code: rules[code] for code in (*self.codes, *asking) if code in rules}
        self._report = report

    def tell(self, fact: tuple[object, ...], led: Sequence[tuple[Event | Site, str]] = ()) -> None:
        """A fact of the world, as `core/world.py` names it: the rules that ask for its kind say what it means."""
        for rule in self.rules.values():
            if rule.asks is not None and isinstance(fact, rule.asks.about):
                for broken in rule.asks.breaks(fact):
                    self.say_as(answer(rule, broken), led)

    def say(
        self, code: str, site: Site, *, certain: bool, led: Sequence[tuple[Event | Site, str]] = (), **names: str
    ) -> None:
        """Report at `site`; `led` names the other places and the part they took."""
        rule = self.rules.get(code)
        if rule is not None:
            self.say_as(note(rule, site, certain=certain, related=(), **names), led)

    def say_as(self, finding: Finding, led: Sequence[tuple[Event | Site, str]]) -> None:
        """Report it, beside the places in `led` and the part they took."""
        places = ((place.site if isinstance(place, Event) else place, part) for place, part in led)
        related = (
            Related(place, part) for place, part in places if place is not None and place.line and place != finding.site
        )
        self._report(finding._replace(related=tuple(dict.fromkeys([*related, *finding.related]))))

    def done_with(self, site: Site) -> bool:
        """Whether more backwards of this line, like those before, would tell it nothing."""
        return True

    def begins(self, deposit: Deposit, roots: Sequence[Tensor], accounts: Sequence["Account"], *, kept: bool) -> None:
        """A backward is about to run. `kept`: with retain_graph=True."""

    def deposited(self, deposit: Deposit, accounts: Sequence["Account"]) -> None:
        """It is over, and has hit these accounts; their windows hold it now."""

    def consuming(self, account: "Account", step: Event) -> None:
        """A step is about to read. The window is what it reads."""

    def fed(self, account: "Account", step: Event) -> None:
        """A step that runs a closure consumes what was deposited, the closure's backward last. The window holds it."""

    def clearing(self, account: "Account", clear: Event) -> None:
        """A zero_grad() has returned; the window is what it erased."""

    def gap(self) -> None:
        """For some steps nobody has looked: forget what hangs on having seen each of them. See [Note: unseen]."""

    def ended(self, accounts: Sequence["Account"]) -> None:
        """The audit stops."""
