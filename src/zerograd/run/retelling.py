"""Events that an account did not see itself: told to it afterwards, in their order."""

from collections.abc import Iterable

from torch import Tensor

from zerograd.core.events import Event, Kind
from zerograd.run.account import Account
from zerograd.run.books import ALL, Clock, Members
from zerograd.run.deposit import Deposit


def retell(
    account: Account, events: Iterable[Event], losses: Iterable[Tensor | None], *, clock: Clock, epoch: int
) -> None:
    """The account has gone through `events`, with these losses: whatever lies in its slots now is what they left."""
    hit, known = account.take_as_told(), iter(losses)
    for event in events:
        loss = next(known, None) if event.kind is Kind.DEPOSIT else None
        enter(account, event, Deposit(event, moment=clock.tick(), epoch=epoch, loss=loss), clock=clock, hit=hit)


def enter(account: Account, event: Event, deposit: Deposit, *, clock: Clock, hit: Members = ALL) -> None:
    """`deposit`: what stands in the window, if the event is one. `hit`: the slots that it has reached, then."""
    if event.kind is Kind.DEPOSIT:
        account.books.deposit(hit, event)
        if hit is ALL or hit:  # a backward that raised may have reached nobody
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
