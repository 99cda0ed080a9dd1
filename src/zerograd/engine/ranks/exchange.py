"""One transaction of several ranks: when they vote, and what follows from it. See [Note: the vote].

[Note: means of means] At any time a slot holds what all ranks have in common, the mean of what was reduced, and on top
of it what only this rank has deposited since. The mean over the ranks of that is the mean of all of it, however often
it is taken. So it is never wrong to reduce once more: a deposit that nobody foresaw only costs a second reduction.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch.distributed as dist
from torch import Tensor

from zerograd.engine.clipping import ByGroupNorm, ByNorm
from zerograd.engine.ranks import refusals
from zerograd.engine.ranks.party import Party
from zerograd.engine.ranks.reducing import Flat, Reduction
from zerograd.engine.ranks.voting import Share, Vote
from zerograd.engine.weighing import Number, Weighing
from zerograd.errors import StepError

if TYPE_CHECKING:
    from zerograd.engine.block import Block

_ERROR, _SEVERED, _ABORT = range(3)  # whose cause is told: an error, a lost connection (which some error led to), abort

_SEVERANCE = ("gloo", "pair closure", "Connection closed", "Connection reset", "NCCL")


class Exchange:
    def __init__(self, party: Party, block: "Block") -> None:
        self.party = party
        wrapper = party.wrapper
        self.learning = wrapper is not None and wrapper.must_reduce()
        self.paced = party.gathers or self.learning  # no rank can run a forward and backward of its own
        self.mode = "each" if self.learning else party.mode
        self.blocks = [block]  # several in a join, of which the first one's exchange speaks for all
        self.speaker = self
        self.joined = False
        self.agreed = False  # every rank will commit
        self.over = False  # there is nothing left to vote on
        self._armed = False
        self._runs: dict[object, int] = {}  # deposits of each micro-batch

    def open(self) -> None:
        if self.party.wrapper is not None:
            self.party.wrapper.hold(each=self.paced and self.mode == "each")

    def close(self) -> None:
        if self.party.wrapper is not None:
            self.party.wrapper.release()

    def forget(self) -> None:
        """Deposits that lie elsewhere than in the slots."""
        if self.party.wrapper is not None:
            self.party.wrapper.forget()

    def rescale(self, factor: Number) -> None:
        """These, too."""
        if self.party.wrapper is not None:
            self.party.wrapper.rescale(factor)

    def admit(self, other: "Exchange | None") -> None:
        """The blocks of another become ours: they end together."""
        if other is None or other.party.voters is not self.party.voters:
            raise refusals.joined_parties()
        self.blocks += other.blocks
        self.joined = other.joined = True
        other.speaker = self

    # Around each deposit

    def arm(self, block: "Block", loss: Tensor) -> None:
        """The backward of `loss` is next. If it reduces, all ranks begin it, and with one unit."""
        party, wrapper = self.party, self.party.wrapper
        block.dirty = block.dirty or not party.gathers or bool(party.beside)
        self._runs[block.micro] = self._runs.get(block.micro, 0) + 1
        if not (self.paced or self._reduces_next(block)) or not self._all_begin(block):
            return
        self._armed = block.last if party.gathers and self.mode == "overlap" else not self.learning
        if self._armed and wrapper is not None:
            wrapper.arm(loss)

    def disarm(self, block: "Block") -> None:
        """It has come back."""
        reduced = self.learning
        if self._armed and self.party.wrapper is not None:
            self._armed, reduced = False, self.party.wrapper.disarm()
        block.dirty = block.dirty and not (reduced and not self.party.gathers)

    def _reduces_next(self, block: "Block") -> bool:
        if block.laid_aside or (self.party.wrapper is not None and not self.party.wrapper.is_known()):
            return False
        if self.mode == "each":
            return True
        return self.mode == "overlap" and block.last and self.party.foreseen and not self.joined

    def _all_begin(self, block: "Block") -> bool:
        """Whether every rank is about to synchronise. If one has failed, it is told here, and nobody waits for it.

        If one has ended, the others deposit for themselves alone, and everything is reduced at commit.
        """
        speaker = self.speaker
        said = speaker._count(Vote(reducing=1, shares=speaker._shares()))
        if said.failed:
            speaker._give_up(None)
        if said.reducing < self.party.size:
            if self.paced:
                raise refusals.uneven_backwards(said.reducing, self.party.size)
            return False
        block.rescale(_take_unit(block, said.shares[speaker.blocks.index(block)]))
        return True

    def goes_on(self, *, more: bool, stuck: bool) -> bool:
        """Whether any rank has another micro-batch: all ranks have equally many where they are paced.

        `stuck`: this one has none, and nothing to put in its place.
        """
        said = self._count(Vote(more=int(more), stuck=int(stuck), shares=self._shares()))
        if said.failed:
            self._give_up(None)
        if said.reducing:
            raise refusals.uneven_backwards(said.reducing, self.party.size)
        if said.more and said.ended:
            raise refusals.left_gathering(said.ended)
        if said.more and said.stuck:
            raise refusals.nothing_to_gather_with(said.stuck)
        return bool(said.more)

    # The end

    def settle(self) -> None:
        """Commit with the others, or raise what keeps one of them from it. Then every slot holds the mean of all."""
        parties = self._parties()
        reductions = [
            _reduction(block, party) if block.dirty else None for block, party in zip(self.blocks, parties, strict=True)
        ]
        said = self._until_all_have_ended()
        self.agreed = self.over = True
        self._learn()
        for block, party, share, reduction in zip(self.blocks, parties, said.shares, reductions, strict=True):
            _take(block, party, share)
            factor = _take_unit(block, share)
            if share.dirty:
                (reduction or _reduction(block, party)).average(party.group, factor * party.size / party.divisor)
            party.finish(mean=block.tally.weighing is Weighing.MEAN)
            block.guard.mark()
        for party in parties:
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
            self.party.voters.count(Vote(ended=1, failed=1, shares=self._shares()))
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
        unit=float(tally.unit),
    )


def _take(block: "Block", party: Party, share: Share) -> None:
    """What all ranks have deposited becomes what the block has."""
    used = [kind for kind, ranks in zip((Weighing.BARE, Weighing.MEAN, Weighing.SUM), share[:3], strict=True) if ranks]
    if len(used) > 1:
        raise refusals.mixed_ranks(*used[:2])
    tally = block.tally
    tally.weighing = used[0] if used else Weighing.NONE
    tally.total, tally.ranks = share.weight, party.divisor
    tally.empty = max(tally.empty, share.empty)
    if party.apart and isinstance(block.terms.clip, ByNorm | ByGroupNorm):
        raise refusals.clipped_apart(len(party.apart))


def _take_unit(block: "Block", share: Share) -> float:
    """The largest of all ranks' units becomes this rank's. The slots have to be multiplied by the answer."""
    return float(block.tally.change_unit(share.unit)) if share.unit else 1.0


def _reduction(block: "Block", party: Party) -> Reduction:
    """What brings the deposits that no backward has reduced to all ranks; by a copy of them, made now."""
    own = None if party.wrapper is None else party.wrapper.reduction()
    return own or Flat(party.beside if party.gathers else block.slots.parameters)


def _is_severed(error: BaseException) -> bool:
    """Whether it only says that some other rank is gone, or late. gloo's own errors are plain RuntimeErrors."""
    said = isinstance(error, RuntimeError) and any(word in str(error) for word in _SEVERANCE)
    return said or isinstance(error, dist.DistError)
