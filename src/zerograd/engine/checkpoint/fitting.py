"""Whether a checkpoint is of this run: asked of all of it before anything is changed."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from zerograd.engine import refusals as engine_refuses
from zerograd.engine import resuming
from zerograd.engine.checkpoint import optimizers, refusals
from zerograd.engine.checkpoint.contents import Contents, class_of
from zerograd.engine.checkpoint.cursor import Cursor
from zerograd.engine.checkpoint.naming import state_of
from zerograd.errors import StepError

_EXTRA = "_extra_state"  # torch's name for what set_extra_state() takes: its shape is the module's affair


def require(contents: Contents, state: Mapping[str, Any]) -> None:
    """Refuse what is of something else, and say what differs first."""
    here = {name: value for name, (_, value) in state_of(contents.model).items()}
    _same_counts(contents, state)
    _same_names("the model", here, state["model"])
    _same_names("also=", contents.also, state["also"])
    _same_shapes({name: value for name, value in here.items() if not name.endswith(_EXTRA)}, state["model"])
    for optimizer, saved in zip(contents.optimizers, state["optimizers"], strict=True):
        name = optimizers.class_of(optimizer)
        _same_class(name, saved)
        if contents.held_by(optimizer) != saved["parameters"]:
            raise refusals.other_model(f"another {name} holds other parameters")
    for number, parameters in contents.outside().items():
        _same_names("what is trained outside the model", parameters, state["outside"].get(number, {}))
        _same_shapes({f"parameter {place}": one for place, one in parameters.items()}, _renamed(state, number))
    for kind in ("schedulers", "scalers"):
        for thing, saved in zip(getattr(contents, kind), state[kind], strict=True):
            _same_class(class_of(thing), saved)
    if isinstance(contents.loader, Cursor) and state["position"] is not None:
        contents.loader._require(state["position"])


def require_steps(contents: Contents, steps: Sequence[dict[str, Any]]) -> None:
    """The states that the Steps will be given, with the deposits of their open blocks."""
    for step, saved in zip(contents.steps, steps, strict=True):
        if step._block is not None:
            raise engine_refuses.loaded_inside()
        try:
            resuming.require(saved, step._slots.current())
        except StepError as error:
            raise refusals.other_model(error.what) from error


def _same_names(what: str, here: Mapping[str, object], saved: Mapping[str, object]) -> None:
    if here.keys() != saved.keys():
        raise refusals.other_model(f"{what} differs in {', '.join(sorted(here.keys() ^ saved.keys())[:3])}")


def _same_shapes(here: Mapping[str, object], saved: Mapping[str, object]) -> None:
    for name, value in here.items():
        other = saved[name]
        if not isinstance(value, Tensor):
            continue
        if not isinstance(other, Tensor) or value.shape != other.shape:
            found = list(other.shape) if isinstance(other, Tensor) else f"a {type(other).__name__}"
            raise refusals.other_model(f"{name} is {found} there and {list(value.shape)} here")


def _same_counts(contents: Contents, state: Mapping[str, Any]) -> None:
    for kind in ("optimizers", "schedulers", "scalers", "steps"):
        count = len(getattr(contents, kind))
        if count != len(state[kind]):
            raise refusals.other_model(f"it has {len(state[kind])} {kind}, and this run has {count}")


def _same_class(name: str, saved: dict[str, Any]) -> None:
    if saved["class"] != name:
        raise refusals.other_model(f"it has {saved['class']} where this run has {name}")


def _renamed(state: Mapping[str, Any], number: str) -> dict[str, Any]:
    return {f"parameter {place}": one for place, one in state["outside"][number].items()}
