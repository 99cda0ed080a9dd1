"""Which slots ever held a gradient: those that never did, while others do, belong to something that is used no more."""

from collections.abc import Sequence

from torch import Tensor

from zerograd.run.slots import Slots


class Fed:
    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._fed: set[int] = set()
        self._unseen = False  # others may have been hit when nobody looked

    def add(self, hit: set[int]) -> None:
        """A backward hit these slots."""
        if len(self._fed) < len(self._slots.ids):
            self._fed |= hit

    def all(self) -> None:
        """Somebody says that all of them were hit."""
        self._fed = set(range(len(self._slots.ids)))

    def unseen(self) -> None:
        """Nobody knows what was hit."""
        self._unseen = True

    def renumber(self, before: Sequence[int | None]) -> None:
        """The slots have other numbers now."""
        self._fed = {new for new, old in enumerate(before) if old in self._fed}

    def orphans(self) -> list[Tensor]:
        """The parameters that could receive gradients and never did, though others do."""
        if self._unseen or len(self._fed) == len(self._slots.ids):
            return []
        known = self._slots.with_state()  # of a gradient before anybody looked
        rest = (one for i, one in enumerate(self._slots.parameters()) if i not in self._fed)
        return [one for one in rest if one.requires_grad and id(one) not in known]
