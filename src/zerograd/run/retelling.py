"""Events that an account did not see itself: told to it afterwards, in their order."""

from collections.abc import Iterable

from zerograd.core.events import Event, Kind
from zerograd.run.account import Account
from zerograd.run.books import ALL, Clock, Members
from zerograd.run.deposit import Deposit


def retell(account: Account, events: Iterable[Event], *, clock: Clock, epoch: int) -> None:
    """The account has gone through `events`: whatever lies in its slots now is what they left."""
    hit = account.take_as_told()
    for event in events:
        enter(account, event, Deposit(event, moment=clock.tick(), epoch=epoch, loss=None), clock=clock, hit=hit)


def enter(account: Account, event: Event, deposit: Deposit, *, clock: Clock, hit: Members = ALL) -> None:
    """`deposit`: what stands in the window, if the event is one. `hit`: the slots that it has reached, then."""
    if event.kind is Kind.DEPOSIT:
        account.books.deposit(hit, event)
        account.window.add(deposit)
        account.fed.all()
    elif event.kind is Kind.CONSUME:
        account.window.settle(account.number, clock.tick())
        account.consumed(event)
    elif event.kind is Kind.CLEAR:
        account.books.clear(ALL, event)
        account.window.erase()
    else:
        account.books.move(ALL, event)
