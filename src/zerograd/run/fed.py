"""Which slots ever held a gradient: those that never did, while others do, belong to something that is used no more.

So may those that held one once, and none since parameters without an owner have come.
"""

from collections.abc import Sequence

from torch import Tensor

from zerograd.run.slots import Slots


class Fed:
    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._fed: set[int] = set()
        self._lately: set[int] | None = None  # since strangers came; None: they all are, or there are no strangers
        self._unseen = False  # others may have been hit when nobody looked

    def add(self, hit: set[int]) -> None:
        """A backward hit these slots."""
        if len(self._fed) < len(self._slots.ids):
            self._fed |= hit
        if self._lately is not None:
            self._lately |= hit
            if len(self._lately) == len(self._slots.ids):
                self._lately = None

    def strangers(self) -> None:
        """A loss has been seen to fill parameters that no optimizer holds."""
        self._lately = set()

    def all(self) -> None:
        """Somebody says that all of them were hit."""
        self._fed, self._lately = set(range(len(self._slots.ids))), None

    def unseen(self) -> None:
        """Nobody knows what was hit."""
        self._unseen, self._lately = True, None

    def renumber(self, before: Sequence[int | None]) -> None:
        """The slots have other numbers now."""
        self._fed = {new for new, old in enumerate(before) if old in self._fed}
        self._lately = None

    def orphans(self) -> list[Tensor]:
        """The parameters that could receive gradients and never did, though others do."""
        if self._unseen or len(self._fed) == len(self._slots.ids):
            return []
        known = self._slots.with_state()  # of a gradient before anybody looked
        rest = (one for i, one in enumerate(self._slots.parameters()) if i not in self._fed)
        return [one for one in rest if one.requires_grad and id(one) not in known]

    def left(self) -> list[Tensor]:
        """The parameters that received gradients once and none since the strangers came, though others do."""
        if self._unseen or not self._lately:
            return []
        rest = (one for i, one in enumerate(self._slots.parameters()) if i in self._fed - self._lately)
        return [one for one in rest if one.requires_grad]
