"""One transaction of several ranks: when they vote, and what follows from it. See [Note: the vote].

[Note: means of means] At any time a slot holds what all ranks have in common, the mean of what was reduced, and on top
of it what only this rank has deposited since. The mean over the ranks of that is the mean of all of it, however often
it is taken. So it is never wrong to reduce once more: a deposit that nobody foresaw only costs a second reduction.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch.distributed as dist
from torch import Tensor

from zerograd.engine.ranks import refusals
from zerograd.engine.ranks.party import Party
from zerograd.engine.ranks.reducing import Flat
from zerograd.engine.ranks.voting import Share, Vote
from zerograd.engine.weighing import Weighing
from zerograd.errors import StepError

if TYPE_CHECKING:
    from zerograd.engine.block import Block

_ERROR, _SEVERED, _ABORT = range(3)  # whose cause is told: an error, a lost connection (which some error led to), abort

_SEVERANCE = ("gloo", "pair closure", "Connection closed", "Connection reset", "NCCL")


class Exchange:
    def __init__(self, party: Party, block: "Block") -> None:
        self.party = party
        wrapper = party.wrapper
        self.mode = "each" if wrapper is not None and wrapper.must_reduce() else party.mode
        self.blocks = [block]  # several in a join, of which the first one's exchange speaks for all
        self.joined = False
        self.agreed = False  # every rank will commit
        self.over = False  # there is nothing left to vote on
        self._armed = False
        self._runs: dict[object, int] = {}  # deposits of each micro-batch

    def open(self) -> None:
        for block in self.blocks:
            block.tally.unit = block.tally.unit or 1.0  # the same on all ranks, from the first step on
        if self.party.wrapper is not None:
            self.party.wrapper.hold(each=self.mode == "each")

    def close(self) -> None:
        if self.party.wrapper is not None:
            self.party.wrapper.release()

    def forget(self) -> None:
        """Deposits that lie elsewhere than in the slots."""
        if self.party.wrapper is not None:
            self.party.wrapper.forget()

    def admit(self, other: "Exchange | None") -> None:
        """The blocks of another become ours: they end together."""
        if other is None or other.party.voters is not self.party.voters:
            raise refusals.joined_parties()
        self.blocks += other.blocks
        self.joined = other.joined = True

    # Around each deposit

    def arm(self, block: "Block", loss: Tensor) -> None:
        """The backward of `loss` is next."""
        party, wrapper = self.party, self.party.wrapper
        if self.mode == "each":
            return
        if party.gathers:  # the ranks have agreed already that this is the last micro-batch
            self._armed = block.last
        else:
            block.dirty = True
            self._runs[block.micro] = self._runs.get(block.micro, 0) + 1
            foreseen = self.mode == "overlap" and block.last and party.foreseen and not self.joined
            self._armed = foreseen and self._all_ready()
        if self._armed and wrapper is not None:
            wrapper.arm(loss)

    def disarm(self, block: "Block") -> None:
        """It has come back."""
        if self._armed and self.party.wrapper is not None:
            self.party.wrapper.disarm()
            self._armed = block.dirty = False

    def _all_ready(self) -> bool:
        """Whether every rank is about to synchronise. If one has failed, it is told here, and nobody waits for it."""
        said = self._count(Vote(shares=self._shares()))
        if said.failed:
            self._give_up(None)
        return not said.ended

    def goes_on(self, *, more: bool, stuck: bool) -> bool:
        """Whether any rank has another micro-batch: where every forward gathers, all ranks have equally many.

        `stuck`: this one has none, and nothing to put in its place. Where all deposits are reduced, none is dirty, and
        that is what the word is lent for.
        """
        shares = tuple(share._replace(dirty=int(stuck)) for share in self._shares())
        said = self._count(Vote(more=int(more), shares=shares))
        if said.failed:
            self._give_up(None)
        if said.more and said.ended:
            raise refusals.left_gathering(said.ended)
        if said.more and said.shares[0].dirty:
            raise refusals.nothing_to_gather_with(said.shares[0].dirty)
        return bool(said.more)

    # The end

    def settle(self) -> None:
        """Commit with the others, or raise what keeps one of them from it. Then every slot holds the mean of all."""
        flats = [Flat(block.slots.parameters) if block.dirty else None for block in self.blocks]
        said = self._until_all_have_ended()
        self.agreed = self.over = True
        self._learn()
        for block, share, flat in zip(self.blocks, said.shares, flats, strict=True):
            _take(block, share, self.party.size)
            if share.dirty:
                (flat or Flat(block.slots.parameters)).average(self.party.group)
                block.guard.mark()
        for party in self._parties():
            party.stopping |= any(share.stopping for share in said.shares)
        self._meet()

    def reopen(self) -> None:
        """A user's own function is to see the gradients, and may raise on one rank alone: they vote once more."""
        self.agreed = self.over = False

    def confirm(self) -> None:
        if not self.agreed:
            self._until_all_have_ended()
            self.agreed = self.over = True

    def fail(self, error: BaseException) -> BaseException:
        """This rank will not commit: tell the others. What to raise, which may be what one of them has to tell."""
        from zerograd.engine.block import Abort

        if self.agreed:  # a StepError is one that every rank raises: what it says was the same everywhere
            return error if isinstance(error, StepError) else refusals.out_of_step(error)
        if self.over:
            return error
        self.over = True
        try:
            self.party.voters.count(Vote(1, 1, 0, self._shares()))
            self._give_up(error)
        except (StepError, Abort) as told:
            return told
        except RuntimeError as lost:  # nobody is there to be told
            error.add_note(f"zerograd: the other ranks could not be told: {lost}")
        return error

    def _until_all_have_ended(self) -> Vote:
        while True:
            said = self._count(Vote(ended=1, shares=self._shares()))
            if said.failed:
                self._give_up(None)
            if said.ended == self.party.size:
                return said

    def _count(self, vote: Vote) -> Vote:
        try:
            return self.party.voters.count(vote)
        except RuntimeError as lost:
            self.over = True
            raise refusals.lost_ranks(self.party.voters.limit, lost) from lost

    def _give_up(self, error: BaseException | None) -> None:
        """Every rank knows that one has failed. Hear which, and why."""
        from zerograd.engine.block import Abort

        self.over = True
        if error is None:
            priority = None
        elif isinstance(error, Abort):
            priority = _ABORT
        else:
            priority = _SEVERED if _is_severed(error) else _ERROR
        speaker, heard, cause = self.party.voters.hear(priority, "" if error is None else repr(error))
        if heard != _SEVERED:
            self._meet()
        if priority is not None and (speaker == self.party.rank or heard == priority):
            return
        if heard == _ABORT:
            raise Abort(self.blocks[0])
        raise refusals.peer_failed(self.party.group, speaker, cause) from error

    def _parties(self) -> list[Party]:
        return [block.exchange.party for block in self.blocks if block.exchange is not None]

    def _meet(self) -> None:
        """All ranks are here, and none of them waits elsewhere."""
        for party in self._parties():
            if party.wrapper is not None:
                party.wrapper.meet()

    # What there is to say

    def _shares(self) -> tuple[Share, ...]:
        return tuple(_share(block, self.party) for block in self.blocks)

    def _learn(self) -> None:
        party = self.party
        single = not self.joined and set(self._runs.values()) == {1}
        party.foreseen = single and (party.wrapper is None or party.wrapper.covers())


def gather(blocks: Sequence["Block"]) -> None:
    """The blocks of a join end together on all ranks: one of their exchanges speaks for all."""
    first = blocks[0].exchange
    for block in blocks[1:]:
        if first is not None:
            first.admit(block.exchange)
        elif block.exchange is not None:
            raise refusals.joined_parties()


def _share(block: "Block", party: Party) -> Share:
    tally = block.tally
    return Share(
        bare=int(tally.weighing is Weighing.BARE),
        mean=int(tally.weighing is Weighing.MEAN),
        sum=int(tally.weighing is Weighing.SUM),
        dirty=int(block.dirty),
        stopping=int(party.asked),
        empty=int(tally.empty > 0),
        weight=float(tally.total),
    )


def _take(block: "Block", share: Share, size: int) -> None:
    """What all ranks have deposited becomes what the block has."""
    used = [kind for kind, ranks in zip((Weighing.BARE, Weighing.MEAN, Weighing.SUM), share[:3], strict=True) if ranks]
    if len(used) > 1:
        raise refusals.mixed_ranks(*used[:2])
    tally = block.tally
    tally.weighing = used[0] if used else Weighing.NONE
    tally.total, tally.ranks = share.weight, size
    tally.empty = max(tally.empty, share.empty)


def _is_severed(error: BaseException) -> bool:
    """Whether it only says that some other rank is gone, or late. gloo's own errors are plain RuntimeErrors."""
    said = isinstance(error, RuntimeError) and any(word in str(error) for word in _SEVERANCE)
    return said or isinstance(error, dist.DistError)
