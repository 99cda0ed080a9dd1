"""`Checkpoints`: everything a run needs to go on where it was, saved whole or not at all.

saved = Checkpoints("runs/a", step, model=model, loader=cursor, every=100)
saved.resume()                  # from the newest that is whole; a fresh start if there is none
for group in groups(cursor, 4, begun=step.in_flight):
    with step: ...
    saved.keep_up()             # saves when it is time; after SIGTERM it saves and leaves
"""

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.distributed.checkpoint.metadata import Metadata

from zerograd.engine.checkpoint import alike, fitting, folder, loading, refusals, reshaping, tensors
from zerograd.engine.checkpoint.contents import Contents, Stateful
from zerograd.engine.checkpoint.stopping import STOPPED, Request
from zerograd.engine.checkpoint.together import Together, ranks_of
from zerograd.engine.checkpoint.values import decode, encode, paths
from zerograd.engine.step import Step
from zerograd.errors import CheckpointError

FORMAT = 2  # of what common.json and rank*.json say


class Checkpoints:
    """The checkpoints of one run, in one folder that all ranks can reach.

    steps     the Step, or all of them: their optimizers, schedulers and scalers are kept with them
    model     the module; what the Steps train outside it is kept too
    loader    where the data is: a zerograd.Cursor, torchdata's StatefulDataLoader, anything with state_dict()
    also      other things with state_dict() and load_state_dict(), by name
    every     how many commits there are between two checkpoints of keep_up(); None: only when asked to stop
    keep      so many are kept
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        steps: Step | Sequence[Step],
        *,
        model: nn.Module,
        loader: Stateful | None = None,
        also: Mapping[str, Stateful] | None = None,
        every: int | None = None,
        keep: int = 3,
    ) -> None:
        if loader is not None and not (hasattr(loader, "state_dict") and hasattr(loader, "load_state_dict")):
            raise refusals.no_position(loader)
        for name, thing in (also or {}).items():
            if not (hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")):
                raise refusals.no_methods(name, thing)
        steps = (steps,) if isinstance(steps, Step) else tuple(steps)
        self._contents = Contents(steps, model, loader, also or {})
        self._folder = folder.Folder(path, keep=max(1, keep))
        self._steps, self._every, self._saved_at = steps, every, 0
        self._request = Request(self._ask)

    # While the run goes on

    def keep_up(self) -> None:
        """Save if it is time. After SIGTERM on any rank: save, and leave with status 75."""
        if self._request.made:  # it may have been before there were ranks to tell
            self._ask()
        due = self._every is not None and self._committed - self._saved_at >= self._every
        if due or self.stopping:
            self.save()
        if self.stopping:
            sys.exit(STOPPED)

    @property
    def stopping(self) -> bool:
        """Whether SIGTERM has reached a rank; all of them know it after their next step."""
        parties = [step._party for step in self._steps if step._party is not None]
        return any(party.stopping for party in parties) if parties else self._request.made

    def close(self) -> None:
        """Let SIGTERM be what it was."""
        self._request.withdraw()

    def _ask(self) -> None:
        for step in self._steps:
            if step._party is not None:
                step._party.asked = True

    @property
    def _committed(self) -> int:
        return sum(step.committed for step in self._steps)

    # Saving

    def save(self) -> Path:
        """Now; inside a block with what it has deposited. All ranks save together. Where it lies."""
        ranks = self._ranks(refusals.not_saved)
        tensors_here: dict[str, Tensor] = {}
        common, own = ranks.all(lambda: self._encoded(tensors_here))
        division = alike.divided(ranks, common, tensors_here)
        begun = ranks.first(self._folder.begin)
        try:
            self._write(begun, ranks, division, common, own, tensors_here)
            sums = ranks.gathered(lambda: folder.sums_of(begun, part=ranks.rank, parts=ranks.size))
            of_all = {name: one for part in sums for name, one in part.items()}
            finished = ranks.first(lambda: self._folder.finish(begun, of_all))
        except BaseException:
            if not ranks.rank:
                self._folder.discard(begun)
            raise
        self._saved_at = self._committed
        return finished

    def _encoded(self, tensors_here: dict[str, Tensor]) -> tuple[dict[str, Any], dict[str, Any]]:
        common, own = self._contents.common(), self._contents.own()
        return (
            {name: encode(part, name, tensors_here) for name, part in common.items()},
            {name: encode(part, name, tensors_here) for name, part in own.items()},
        )

    def _write(
        self,
        begun: Path,
        ranks: Together,
        division: alike.Division,
        common: dict[str, Any],
        own: dict[str, Any],
        tensors_here: dict[str, Tensor],
    ) -> None:
        named = {division.stored_as(path, ranks.rank): tensor for path, tensor in tensors_here.items()}
        ranks.all(lambda: tensors.write(begun, named, ranks.group))
        alone = {name: part for name, part in common.items() if name not in division.parts}
        ranks.all(lambda: folder.write(begun / f"rank{ranks.rank}.json", json.dumps({**alone, **own})))
        head = {"format": FORMAT, "ranks": ranks.size}
        parts = {name: common[name] for name in common if name in division.parts}
        ranks.first(lambda: folder.write(begun / folder.COMMON, json.dumps({**head, "parts": parts})))

    # Resuming

    def resume(self, name: str | None = None) -> bool:
        """Go on from the newest checkpoint that is whole, or from this one. Whether there was any.

        If it raises, nothing was changed, on any rank.
        """
        ranks = self._ranks(refusals.not_loaded)
        names = ranks.first(self._folder.names)
        if name is not None and name not in names:
            raise refusals.no_such(name, names)
        candidates = names[::-1] if name is None else [name]
        for candidate in candidates:
            path = self._folder.path / candidate
            found = next(filter(None, ranks.gathered(partial(_damage, path, ranks))), "")
            if not found:
                self._load(path, ranks)
                return True
            if name is not None:
                raise refusals.damaged(candidate, found)
            warnings.warn(f"zerograd: checkpoint {candidate} is damaged: {found}", RuntimeWarning, stacklevel=2)
        if candidates:
            raise refusals.all_damaged(candidates)
        return False

    def _load(self, path: Path, ranks: Together) -> None:
        contents = self._contents
        common = ranks.all(lambda: _head(path))
        stored = ranks.all(lambda: tensors.metadata_of(path))
        coded = ranks.all(lambda: reshaping.chosen(path, common, ranks.rank, ranks.size, stored))
        rooms = ranks.all(lambda: self._rooms(path, coded, stored))
        ranks.all(lambda: tensors.read(path, stored, rooms, ranks.group))
        state = ranks.all(lambda: self._fitting(decode(coded, rooms), common, ranks))
        loading.load(contents, state, ranks)
        self._saved_at = self._committed

    def _rooms(self, path: Path, coded: dict[str, Any], stored: Metadata) -> dict[str, Tensor]:
        patterns = self._contents.patterns()
        like = {name: self._contents.like(name.partition("/")[2], patterns) for name in paths(coded)}
        return tensors.rooms(path, stored, like)

    def _fitting(self, state: dict[str, Any], common: dict[str, Any], ranks: Together) -> dict[str, Any]:
        """The state as this run takes it; refused if it is of another."""
        fitting.require(self._contents, state)
        steps = reshaping.steps(state, common["ranks"], ranks.rank, ranks.size)
        fitting.require_steps(self._contents, steps)
        return {**state, "steps": steps}

    def _ranks(self, failed: Callable[[str], CheckpointError]) -> Together:
        found = (step._find_party() for step in self._steps)
        return ranks_of([party for party in found if party is not None], failed)


def _head(path: Path) -> dict[str, Any]:
    """What is common to all ranks, if it is written as we read it."""
    common: dict[str, Any] = json.loads((path / folder.COMMON).read_text(encoding="utf-8"))
    if common.get("format") != FORMAT:
        raise refusals.other_format(path.name, common.get("format"), FORMAT)
    return common


def _damage(path: Path, ranks: Together) -> str:
    try:
        return folder.damage(path, part=ranks.rank, parts=ranks.size)
    except CheckpointError as error:
        return error.what.partition(": ")[2]
