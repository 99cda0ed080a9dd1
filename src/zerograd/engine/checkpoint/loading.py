"""A checkpoint is loaded all or not at all: what was changed is brought back when something behind it fails.

What can be asked beforehand has been asked (fitting.py). What is left is code that is not ours: a `load_state_dict()`
may raise, on one rank alone. Before the first of them is called, everything that will be changed is copied.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zerograd.engine.checkpoint import chance, optimizers, refusals, reshaping
from zerograd.engine.checkpoint.contents import Contents
from zerograd.engine.checkpoint.cursor import Cursor
from zerograd.engine.checkpoint.naming import buffers_beside, state_of
from zerograd.engine.checkpoint.together import Together
from zerograd.errors import CheckpointError


class Change(NamedTuple):
    """`undo` is None where nobody can tell what was there."""

    what: str
    write: Callable[[], object]
    undo: Callable[[], object] | None


def load(contents: Contents, state: dict[str, Any], ranks: Together) -> None:
    changes = ranks.all(lambda: list(_changes(contents, state, ranks.size)))
    begun: list[Change] = []
    try:
        ranks.all(lambda: _write(changes, begun))
    except BaseException as error:
        lost = [change.what for change in reversed(begun) if not _is_undone(change)]
        if lost and isinstance(error, CheckpointError):
            raise refusals.half_loaded(refusals.cause_of(error), lost) from error
        raise
    for step, saved in zip(contents.steps, state["steps"], strict=True):
        step.load_state_dict(saved)  # every key and every shape of it has been looked at


def _write(changes: list[Change], begun: list[Change]) -> None:
    for change in changes:
        begun.append(change)
        try:
            change.write()
        except Exception as error:
            raise refusals.not_loaded(f"{change.what}: {refusals.in_words(error)}") from error


def _is_undone(change: Change) -> bool:
    if change.undo is None:
        return False
    try:
        change.undo()
    except Exception:
        return False
    return True


def _changes(contents: Contents, state: dict[str, Any], size: int) -> Iterator[Change]:
    """In this order. What cannot be copied stands last, where only little can fail behind it."""
    yield Change("the model", lambda: _load_model(contents, state), _copy_of_model(contents))
    for optimizer, saved in zip(contents.optimizers, state["optimizers"], strict=True):
        before = _copied(partial(optimizers.read, optimizer))
        undo = None if before is None else partial(optimizers.write, optimizer, before)
        yield Change(type(optimizer).__name__, partial(optimizers.write, optimizer, saved), undo)
    for thing, saved in zip(contents.schedulers, state["schedulers"], strict=True):
        yield _change(type(thing).__name__, thing, saved["state"])
    for thing, saved in zip(contents.scalers, state["scalers"], strict=True):
        yield _change(type(thing).__name__, thing, saved["state"])
    for name, thing in contents.also.items():
        yield _change(f"also[{name!r}]", thing, state["also"][name])
    if contents.loader is not None:
        # To ask another loader than a Cursor where it is may begin its epoch.
        back = contents.loader._remembered() if isinstance(contents.loader, Cursor) else None
        yield Change("the loader", lambda: reshaping.load_position(contents.loader, state, size), back)
    if state["chance"] is not None:
        now = chance.read(contents.device)
        yield Change(
            "the random state",
            lambda: chance.write(state["chance"], contents.device),
            lambda: chance.write(now, contents.device),
        )


def _change(what: str, thing: Any, saved: Any) -> Change:
    before = _copied(thing.state_dict)
    undo = None if before is None else partial(thing.load_state_dict, before)
    return Change(what, partial(thing.load_state_dict, saved), undo)


def _copied(state_dict: Callable[[], Any]) -> Any:
    """None: a thing that has no state yet, or one that cannot be copied, may be loaded all the same."""
    try:
        return deepcopy(state_dict())
    except Exception:
        return None


def _load_model(contents: Contents, state: dict[str, Any]) -> None:
    here = state_of(contents.model)
    contents.model.load_state_dict({name: state["model"][plain] for plain, (name, _) in here.items()})
    with torch.no_grad():
        for number, parameters in contents.outside().items():
            for place, parameter in parameters.items():
                parameter.copy_(state["outside"][number][place])
        for name, buffer in buffers_beside(contents.model).items():
            saved = state["buffers"].get(name)
            if saved is not None and saved.shape == buffer.shape:
                buffer.copy_(saved)


def _copy_of_model(contents: Contents) -> Callable[[], None]:
    """In the memory of the host, and tensor by tensor: the model's own load_state_dict() may be what failed."""
    model = contents.model
    outside = [parameter for parameters in contents.outside().values() for parameter in parameters.values()]
    kept = [(one, _local(one).to("cpu", copy=True)) for one in (*model.parameters(), *model.buffers(), *outside)]
    extra = [(module, deepcopy(module.get_extra_state())) for module in model.modules() if _has_extra_state(module)]

    def undo() -> None:
        with torch.no_grad():
            for tensor, before in kept:
                _local(tensor).copy_(before)
        for module, state in extra:
            module.set_extra_state(state)

    return undo


def _local(tensor: Tensor) -> Tensor:
    tensor = tensor.detach()
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _has_extra_state(module: nn.Module) -> bool:
    return type(module).get_extra_state is not nn.Module.get_extra_state
