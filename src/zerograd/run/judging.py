"""Lifecycle rules in a run: each event is judged in the state that the optimizer's slots are in when it comes.

What the books say is not yet a finding. It is asked for by the values, excused by what may have happened unseen, and
told with the numbers that are at hand: which parameters, and how much of the update is old.
"""

import contextlib
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence

from zerograd.core.events import Event, Kind, Site
from zerograd.core.facts import Doubts, Fact
from zerograd.core.findings import Certainty, Finding, Related
from zerograd.core.judgement import Code, Verdict, judge
from zerograd.core.machine import HOLLOW, Content, Scale
from zerograd.rules import REGISTRY
from zerograd.rules.discarded_gradient import IN_CLOSURE
from zerograd.rules.rule import Rule, idiom
from zerograd.rules.telling import NOWHERE, note, tell
from zerograd.run.account import Account
from zerograd.run.accounts import Accounts
from zerograd.run.books import ALL
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.naming import named
from zerograd.run.rescaling import again_and_again
from zerograd.run.single import SingleSteps
from zerograd.run.sureness import count_starving, doubts

_HABIT = 2
_TINY = 1e-3  # a limit below this share of the loss scale was not multiplied by it: nobody clamps to so little
_UNSCALED: Doubts = frozenset({Kind.UNSCALE})
_FROZEN = "trains nothing: all its parameters have requires_grad=False"
_UNFREEZE = "call requires_grad_(True) on the parameters that should train"


class Judge(Detector):
    # Idioms that show in the books, where these are judged.
    codes = ("ZG002", "ZG004", "ZG009", "ZG107", "ZG201", "ZG305", "ZG401")

    def __init__(self, rules: Sequence[Rule], report: Callable[[Finding], None], accounts: Accounts) -> None:
        self._pending: deque[Finding] = deque()  # two threads may add to it and take from it at once
        super().__init__({rule.code: rule for rule in rules}, self._pending.append)
        self._chosen = {rule.code for rule in rules}
        self._exactly = {rule.refines: rule for rule in rules if rule.refines}  # by what each tells more exactly
        refined = [REGISTRY[code] for code in self._exactly if code not in self._chosen]
        self._laws = Code(rule for rule in (*rules, *refined) if rule.lacks is not idiom)
        self._tell = report
        self._accounts = accounts
        self._named: set[Site] = set()
        self._last_clear: dict[int, tuple[Event, int]] = {}  # in each thread, and when
        self._blind: Counter[Site | None] = Counter()
        self._useful: set[Site | None] = set()
        self._gap = False  # there were steps at which nobody looked
        self._emptied: Counter[Site] = Counter()  # steps whose closure cleared what it had deposited for them
        self._single = SingleSteps()
        self._repeats: dict[int, str] = {}  # by account: the parameters that it holds more than once

    def flush(self) -> None:
        """Say what was found. Only when the books are in order again: whoever hears it may raise."""
        while self._pending:
            with contextlib.suppress(IndexError):  # another thread was faster
                finding = self._pending.popleft()
                self._tell(finding)

    def gap(self) -> None:
        self._gap = True
        self._last_clear.clear()

    def conclude(self) -> None:
        """Nothing more comes: what single steps have shown is certain."""
        single, self._single = self._single, SingleSteps()
        self._pending.extend(finding for finding in single.ended() if finding.code in self._chosen)
        self.flush()

    def overlook_single_steps(self) -> None:
        """Say nothing at the end of what has happened so far."""
        self._single = SingleSteps()

    def _charge(self, account: Account, finding: Finding) -> None:
        """Say it; of an optimizer that has never stepped only when it does. Others may step what it holds as well."""
        (self._pending if account.stepped else account.withheld).append(finding)

    # Steps

    def consume(
        self, account: Account, event: Event, *, hooked: bool, left_a_loss: bool, patience: Callable[[], float],
        scale: Callable[[], float],
    ) -> None:  # fmt: skip
        """A step is about to read. `patience`: steps that may starve before they are called so."""
        if account.withheld:
            self._pending.extend(account.withheld)
            account.withheld.clear()
        if account.standing().content is not Content.FRESH:
            account.ask()
        standing = account.standing()
        count_starving(account, event.site, standing.fact)
        fact = standing.fact
        if standing.content is not Content.FRESH:
            excuses = doubts(account, event.site, others=self._accounts.everyone(), hooked=hooked)
            fact = fact._replace(doubts=fact.doubts | excuses)
        if account.window.edited or not account.still_scaled():
            fact = fact._replace(doubts=fact.doubts | _UNSCALED)
        told_later = self._single.consuming(account, event, hooked=hooked, left_a_loss=left_a_loss)
        for verdict in () if told_later else judge(frozenset({fact}), event, self._laws):
            finding = self._told_exactly(tell(verdict, standing.trail), verdict, account)
            if verdict.law.needs_loss and account.slots.frozen():
                finding = finding._replace(message=f"{event.what} {_FROZEN}", cure=_UNFREEZE)
            elif verdict.law.needs_loss and account.habits.starved.get(event.site, 0) < patience():
                finding = finding._replace(certainty=Certainty.POSSIBLE)  # what is learned may be learned elsewhere
            if finding.code in self._chosen:
                self._pending.append(self._enriched(finding, verdict, account))
        if event.scaled:  # a fused optimizer divides by itself
            self._clamped(account, event, scale)
        if again_and_again(_factors(account)):
            self._rescaled(account, event)
        if account.aliases.returned:
            self._shared(account, event)
        if account.slots.repeated and account.standing().content not in HOLLOW:
            self._twice(account, event)

    def announced(self, account: Account, event: Event) -> None:
        """A step has consumed, unseen. What lay there can be asked no more: the books alone are judged."""
        standing = account.standing()
        count_starving(account, event.site, standing.fact)
        for verdict in judge(frozenset({standing.fact}), event, self._laws):
            if verdict.law.code in self._chosen:
                self._pending.append(tell(verdict, standing.trail))

    def _told_exactly(self, finding: Finding, verdict: Verdict[Rule], account: Account) -> Finding:
        """A stale gradient beside a clear that did not reach it is a clear that does not cover what is stepped."""
        rule = self._exactly.get(finding.code)
        clear, moment = self._last_clear.get(account.thread, (None, 0))
        never = account.books.never_cleared(account.standing().members)
        beside = clear is not None and moment > account.books.stepped
        if rule is None or not never or not beside or clear is None:
            return finding
        certain = finding.certainty is Certainty.CERTAIN
        names = {"step": verdict.event.what, "slot": account.called, "clearing": f"{account.called}.zero_grad()"}
        cleared = (Related(clear.site, "clears other parameters"),) if clear.site is not None else ()
        return note(rule, finding.site, certain=certain, related=(*finding.related[:1], *cleared), **names)

    def _enriched(self, finding: Finding, verdict: Verdict[Rule], account: Account) -> Finding:
        """With the parameters and the numbers, the first time it is said."""
        if finding.certainty is not Certainty.CERTAIN or finding.site in self._named:
            return finding
        self._named.add(finding.site)
        said = named(account.concerned())
        if Content.MIXED in verdict.law.led_by and (share := account.stale_share()) is not None:
            said = f"{share:.0%} of this update is old; {said}"
        return finding._replace(related=(*finding.related, Related(finding.site, said)))

    def _rescaled(self, account: Account, step: Event) -> None:
        last = account.window.deposits[-1]
        led = [(step, "uses the result")]
        self.say("ZG107", last.site, certain=True, led=led, deposit=last.event.what)

    def _shared(self, account: Account, step: Event) -> None:
        led = [(one.event, "adds to the shared gradient") for one in account.window.deposits[-1:]]
        clear, _ = self._last_clear.get(account.thread, (None, 0))
        led += [(clear, "clears only one of the two")] if clear is not None else []
        self.say("ZG305", step.site or NOWHERE, certain=True, led=led, step=step.what)

    def _twice(self, account: Account, step: Event) -> None:
        """A parameter that stands twice in a group is stepped twice. torch only warns, when the optimizer is made."""
        rule = self.rules.get("ZG004")
        if rule is None:
            return
        if account.number not in self._repeats:
            self._repeats[account.number] = named(account.slots.repeats())
        again = "a parameter is listed twice"
        said = f"{step.what} applies the same gradients twice: {again}"
        told = note(rule, step.site or NOWHERE, certain=True, related=(), step=step.what, consumer="")
        listed = Related(told.site, f"listed twice: {self._repeats[account.number]}")
        self.say_as(told._replace(message=said, cure="list every parameter once", related=(listed,)), ())

    def mixed_points(self, step: Event | None, deposit: Deposit) -> None:
        """A closure adds to the gradient of another point."""
        site = step.site if step is not None and step.site is not None else deposit.site
        led = [(deposit.event, "adds to the gradients of the previous evaluation")]
        self.say("ZG009", site, certain=True, led=led, step=step.what if step is not None else "step()")

    def fed(self, account: Account, step: Event | None) -> None:
        """A step that ran a closure has ended, and the closure has deposited."""
        clear = account.closure.erased
        if clear is None or step is None or step.site is None:
            return
        self._emptied[step.site] += 1
        where = f"{clear.what} on line {clear.site.line}" if clear.site is not None else clear.what
        certain = self._emptied[step.site] >= _HABIT
        rule = self.rules.get("ZG002")
        if rule is not None:
            told = rule._replace(remedy=IN_CLOSURE)
            found = note(told, step.site, certain=certain, step=step.what, clear=where)
            self.say_as(found, [(clear, "clears them before any step")])
        self.flush()

    # Clears

    def cleared(self, clear: Event, *, to_none: bool) -> None:
        """A zero_grad() has returned, whatever it cleared."""
        self._last_clear[threading.get_ident()] = (clear, self._accounts.clock.tick())
        if not to_none and clear.site is not None:
            self.say("ZG401", clear.site, certain=True, what="zero_grad(set_to_none=False)")
        self.flush()

    # Clips

    def clip(self, reached: Sequence[Account], event: Event, *, judged: bool) -> None:
        if not judged:
            return
        standings = [account.standing() for account in reached]
        if any(one.content in (Content.FRESH, Content.MIXED) for one in standings):
            self._useful.add(event.site)
        for account, standing in zip(reached, standings, strict=True):
            live = account.settle() if standing.content not in (Content.FRESH, Content.MIXED) else None
            standing = account.standing() if live is not None else standing
            for verdict in judge(frozenset({standing.fact}), event, self._laws):
                late = verdict.law.lacks(standing.fact.state, event) is Kind.DEPOSIT
                if late and (standing.content in HOLLOW or event.site in self._useful):
                    continue  # what is clipped before its backward is told by the backward
                self._charge(account, self._enriched(tell(verdict, standing.trail), verdict, account))
        self.flush()

    def deposit_on_clipped(self, account: Account, deposit: Deposit, fact: Fact, clipped: Event) -> None:
        """A backward adds to what was clipped, or comes after a clip that found nothing."""
        same = bool(account.window.deposits) and account.window.deposits[-1].site == deposit.site
        if same and account.habits.lone():  # no window of micro-batches: the step that it was clipped for did not come
            account.window.deposits[-1].clipped, same = True, False
        hollow = fact.state.content in HOLLOW
        if hollow:
            self._blind[clipped.site] += 1
        for verdict in judge(frozenset({fact}), deposit.event, self._laws):
            if verdict.law.at is not Kind.CLIP:
                continue
            blind = self._blind[clipped.site] >= _HABIT and clipped.site not in self._useful and not self._gap
            sure = blind if hollow else same
            told = tell(verdict, account.standing().trail)
            told = told._replace(site=clipped.site or told.site)
            if hollow and not sure and clipped.site not in self._useful:
                self._single.clipped_first(account, told)
            else:
                self._charge(account, told if sure else told._replace(certainty=Certainty.POSSIBLE))
        self.flush()

    # Scalers

    def _clamped(self, account: Account, event: Event, scale: Callable[[], float]) -> None:
        """The loss scale is about to be divided out. `p.grad.clamp_(-1, 1)` before that cuts off nearly everything."""
        rule = self.rules.get("ZG201")
        if rule is None or not account.window.deposits or account.standing().fact.state.scale is not Scale.SCALED:
            return
        limit = account.rescaling.clamped_to(account.few_gradients()) if account.rescaling.watching else None
        if limit is None:
            return
        last = account.window.deposits[-1]
        told = note(rule, event.site or last.site, certain=limit < _TINY * scale(), related=(), clip=".grad.clamp_()")
        said = f"gradients are clamped to {limit:g} while still multiplied by the loss scale"
        self._charge(account, told._replace(message=said, related=_beside(told.site, last)))

    def unscale(self, account: Account, event: Event, *, scale: Callable[[], float]) -> None:
        standing = account.standing()
        for verdict in judge(frozenset({standing.fact}), event, self._laws):
            self._charge(account, tell(verdict, standing.trail))
        self._clamped(account, event, scale)
        account.rescaling.unscaled()
        account.books.move(ALL, event)
        self.flush()


def _beside(site: Site, deposit: Deposit) -> tuple[Related, ...]:
    return (Related(deposit.site, "adds gradients multiplied by the loss scale"),) if deposit.site != site else ()


def _factors(account: Account) -> list[float | None]:
    """What each deposit of the window was multiplied by before the next one, or this step."""
    if not account.rescaling.watching or not account.window.deposits or account.clipped_by is not None:
        return []
    account.rescaling.look(account.few_gradients())
    factors = account.rescaling.factors()
    account.window.edited = account.window.edited or account.rescaling.known
    return factors
