"""How sure a run may be of what its books say. What an event could excuse becomes a doubt, as it does in source.

Some steps are meant to find nothing, or to find the same again: one optimizer for each expert with all of them stepped
every time, a guard that clears a batch that is not finite and steps anyway, a line search that puts the weights back.
"""

from collections.abc import Iterable

from zerograd.core.events import Site
from zerograd.core.facts import NO_DOUBT, Doubts, Fact
from zerograd.core.machine import HOLLOW, Content
from zerograd.run.account import Account
from zerograd.run.handwork import MAYBE_CLEARED, MAYBE_FILLED

_IN_A_ROW = 2  # a step that starves once may be meant; a loop that starves says so again


def count_starving(account: Account, site: Site | None, fact: Fact) -> None:
    """A step begins. One that finds something, or may have found it, ends every row of steps that found nothing."""
    if fact.state.content in HOLLOW and not fact.doubts & MAYBE_FILLED:
        account.habits.starved[site] = account.habits.starved.get(site, 0) + 1
    else:
        account.habits.starved.clear()
        account.habits.nourished[site] = account.habits.nourished.get(site, 0) + 1


def remember_unread(accounts: Iterable[Account]) -> None:
    """A clear begins. What it clears unread may be no number: asked until the first step, and where one has starved."""
    for account in accounts:
        if account.window.deposits and (account.habits.starved or not account.steps):
            account.window.sizes = list(account.slots.sizes(range(len(account.slots.ids))).values())


def doubts(account: Account, site: Site | None, *, others: Iterable[Account], hooked: bool) -> Doubts:
    """What may excuse the step that begins. `hooked`: other hooks run between us and the step, and may fill `.grad`."""
    content = account.standing().content
    if hooked:
        return MAYBE_FILLED | MAYBE_CLEARED
    if content in HOLLOW:
        return NO_DOUBT if _starves(account, site, content, others) else MAYBE_FILLED
    if content is Content.SPENT and not account.untouched():
        return MAYBE_FILLED
    return NO_DOUBT


def _starves(account: Account, site: Site | None, content: Content, others: Iterable[Account]) -> bool:
    # A guard that clears what is not finite, and steps anyway, starves a step now and then, or a few in a row.
    in_a_row = account.habits.starved.get(site, 0)
    if in_a_row < _IN_A_ROW or in_a_row <= account.habits.nourished.get(site, 0) or not account.books.tended:
        return False  # an optimizer that was never cleared nor fed draws the curve of a schedule
    if account.window.erased_for_cause():
        return False
    strangers = [other for other in others if other is not account]
    if any(other.habits.nourished.get(site) for other in strangers):
        return False  # one line steps several optimizers, of which only some are fed at a time
    if content is Content.LOST and account.books.lost:
        return True
    # This step's turn may simply not have come: another optimizer was fed.
    return all(other.books.fed <= account.books.stepped for other in strangers)
