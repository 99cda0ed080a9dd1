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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn

from zerograd.engine.checkpoint import chance, folder, refusals, reshaping, tensors
from zerograd.engine.checkpoint.contents import Contents, Stateful
from zerograd.engine.checkpoint.naming import slots_by_name, state_of
from zerograd.engine.checkpoint.stopping import STOPPED, Request
from zerograd.engine.checkpoint.values import decode, encode, paths
from zerograd.engine.step import Step
from zerograd.errors import CheckpointError


class Checkpoints:
    """The checkpoints of one run, in one folder that all ranks can reach.

    steps     the Step, or all of them: their optimizers, schedulers and scalers are kept with them
    model     the module that holds all parameters
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
        group, rank, size = self._ranks()
        begun = Path(_told(group, str(self._folder.begin()) if not rank else ""))
        error = ""
        try:
            self._write(begun, rank, size, group)
        except CheckpointError:
            if group is None:
                raise
            error = str(sys.exc_info()[1])
        sums = _gathered(group, {} if error else folder.sums_of(begun, part=rank, parts=size), error)
        if not rank:
            self._folder.finish(begun, sums)
        _told(group, "")  # it is there for all
        self._saved_at = self._committed
        return begun.with_suffix("")

    def _write(self, begun: Path, rank: int, size: int, group: "dist.ProcessGroup | None") -> None:
        named: dict[str, Tensor] = {}
        common = encode({**self._contents.common(), "ranks": size}, "common", named)
        own = encode(self._contents.own(), f"rank{rank}", named)
        tensors.write(begun, named, group)
        folder.write(begun / f"rank{rank}.json", json.dumps(own))
        if not rank:
            folder.write(begun / "common.json", json.dumps(common))
        if group is not None:
            dist.barrier(group)  # all files are there, for whoever sums them

    # Resuming

    def resume(self, name: str | None = None) -> bool:
        """Go on from the newest checkpoint that is whole, or from this one. Whether there was any."""
        group, rank, size = self._ranks()
        names = json.loads(_told(group, json.dumps(self._folder.names()) if not rank else ""))
        if name is not None and name not in names:
            raise refusals.no_such(name, names)
        candidates = names[::-1] if name is None else [name]
        for candidate in candidates:
            found = _agreed(group, _damage(self._folder.path / candidate, rank, size))
            if not found:
                self._load(self._folder.path / candidate, rank, size, group)
                return True
            if name is not None:
                raise refusals.damaged(candidate, found)
            warnings.warn(f"zerograd: checkpoint {candidate} is damaged: {found}", RuntimeWarning, stacklevel=2)
        if candidates:
            raise refusals.all_damaged(candidates)
        return False

    def _load(self, path: Path, rank: int, size: int, group: "dist.ProcessGroup | None") -> None:
        contents = self._contents
        common = json.loads((path / "common.json").read_text(encoding="utf-8"))
        contents.check(common)
        saved = [json.loads((path / f"rank{one}.json").read_text("utf-8")) for one in range(common["ranks"])]
        own = reshaping.chosen(saved, rank, size)
        stored = tensors.metadata_of(path)
        slots = slots_by_name(contents.model, contents.optimizers)
        wanted = [one for one in paths([common, own]) if not one.startswith("common/model/")]
        like = {one: pattern for one in wanted if (pattern := contents.like(one, slots)) is not None}
        rooms = tensors.rooms(stored, wanted, like)
        for plain, (_, value) in state_of(contents.model).items():
            if isinstance(value, Tensor):
                reshaping.same_shape(plain, value, stored)
                rooms[f"common/model/{plain}"] = value
        tensors.read(path, rooms, group)
        common, own = decode(common, rooms), decode(own, rooms)
        contents.load(common)
        contents.load_buffers(own["buffers"])
        contents.load_steps(common, reshaping.inflight(common, own, rank, size))
        if contents.loader is not None:
            reshaping.load_position(contents.loader, own, size)
        if own["chance"] is not None:
            chance.write(own["chance"], contents.device)
        self._saved_at = self._committed

    def _ranks(self) -> "tuple[dist.ProcessGroup | None, int, int]":
        """Those who save together, and which of them we are."""
        parties = [party for step in self._steps if (party := step._find_party()) is not None]
        if parties:
            return parties[0].voters.group or parties[0].group, parties[0].rank, parties[0].size
        if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            return dist.group.WORLD, dist.get_rank(), dist.get_world_size()
        return None, 0, 1


def _damage(path: Path, rank: int, size: int) -> str:
    try:
        return folder.damage(path, part=rank, parts=size)
    except CheckpointError as error:
        return error.what.partition(": ")[2]


def _told(group: "dist.ProcessGroup | None", text: str) -> str:
    """What the first rank says."""
    if group is None:
        return text
    said = [text]
    dist.broadcast_object_list(said, group_src=0, group=group)
    return said[0]


def _agreed(group: "dist.ProcessGroup | None", damage: str) -> str:
    """What any rank has found."""
    if group is None:
        return damage
    found: list[Any] = [None] * group.size()
    dist.all_gather_object(found, damage, group=group)
    return next(filter(None, found), "")


def _gathered(group: "dist.ProcessGroup | None", sums: dict[str, list[Any]], error: str) -> dict[str, list[Any]]:
    if group is None:
        return sums
    found: list[Any] = [None] * group.size()
    dist.all_gather_object(found, (sums, error), group=group)
    for rank, (_, theirs) in enumerate(found):
        if theirs:
            raise CheckpointError(f"rank {rank}: {theirs}")
    return {name: entry for theirs, _ in found for name, entry in theirs.items()}
