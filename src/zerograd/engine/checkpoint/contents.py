"""What a checkpoint holds of a run: what its ranks usually have in common, and what each of them has alone."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from torch import Tensor, nn

from zerograd.engine.block import Block
from zerograd.engine.checkpoint import chance, optimizers, refusals
from zerograd.engine.checkpoint.cursor import Cursor
from zerograd.engine.checkpoint.naming import buffers_beside, parameter_names, state_of, tensors_of
from zerograd.engine.checkpoint.values import in_path
from zerograd.engine.step import Step
from zerograd.engine.supply import supply
from zerograd.errors import ZerogradError

T = TypeVar("T")


class Stateful(Protocol):
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> object: ...


class Contents:
    def __init__(
        self, steps: Sequence[Step], model: nn.Module, loader: Stateful | None, also: Mapping[str, Stateful]
    ) -> None:
        self.steps, self.model, self.loader, self.also = steps, model, loader, dict(also)
        self.optimizers = [optimizer for step in steps for optimizer in step.optimizers]
        self.device = steps[0]._slots.device
        terms = [step._terms for step in steps]
        self.schedulers: list[Any] = [scheduler for one in terms for scheduler in one.schedulers]
        scalers = {id(one.scaling.scaler): one.scaling.scaler for one in terms if one.scaling}
        self.scalers: list[Any] = list(scalers.values())

    # To be saved

    def common(self) -> dict[str, Any]:
        """Where one of it is not the same on all ranks, alike.py finds out."""
        return {
            "model": {name: value for name, (_, value) in state_of(self.model).items()},
            "outside": self.outside(),
            "buffers": buffers_beside(self.model),
            "optimizers": [
                said(type(optimizer).__name__, partial(self._optimizer, optimizer)) for optimizer in self.optimizers
            ],
            "schedulers": [_with_class(one) for one in self.schedulers],
            "scalers": [_with_class(one) for one in self.scalers],
            "also": {name: said(f"also[{name!r}]", thing.state_dict) for name, thing in self.also.items()},
            "steps": [_counters(step) for step in self.steps],
            "sharded": [_sharded_gradients(step) for step in self.steps],
        }

    def own(self) -> dict[str, Any]:
        """Of this rank, even if another has the same."""
        return {
            "chance": chance.read(self.device),
            "position": self._position(),
            "inflight": [_inflight(step) for step in self.steps],
        }

    def outside(self) -> dict[str, dict[str, Tensor]]:
        """Parameters that are trained and are in nobody's state: by the number of the optimizer, and their place."""
        modules = (thing for thing in (self.model, *self.also.values()) if isinstance(thing, nn.Module))
        seen = {id(value) for module in modules for value in tensors_of(module).values()}
        found: dict[str, dict[str, Tensor]] = {}
        for number, optimizer in enumerate(self.optimizers):
            for place, parameter in enumerate(optimizers.parameters_of(optimizer)):
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    found.setdefault(str(number), {})[str(place)] = parameter
        return found

    def held_by(self, optimizer: Any) -> list[list[str | None]]:
        """The names of an optimizer's parameters, group by group; None for what the model does not have."""
        names = parameter_names(self.model)
        return [[names.get(id(parameter)) for parameter in group["params"]] for group in optimizer.param_groups]

    def _optimizer(self, optimizer: Any) -> dict[str, Any]:
        name = optimizers.class_of(optimizer)
        return {"class": name, "parameters": self.held_by(optimizer), **optimizers.read(optimizer)}

    def _position(self) -> dict[str, Any] | None:
        blocks = [step._block for step in self.steps if step._block is not None]
        if isinstance(self.loader, Cursor):
            pending = {_still_to_come(self.loader, block) for block in blocks} or {0}
            if len(pending) > 1:
                raise refusals.unlike_blocks()
            return self.loader.state_dict(pending=pending.pop(), inside=bool(blocks))
        if self.loader is not None and any(block.in_flight or block.iterating for block in blocks):
            raise refusals.past_the_group()
        return None if self.loader is None else said("loader", self.loader.state_dict)

    # Where tensors go

    def patterns(self) -> dict[str, Tensor]:
        """Tensors of this run by the path they are saved at: what is read is sharded and ordered like them."""
        found: dict[str, object] = {
            f"model/{in_path(name)}": value for name, (_, value) in state_of(self.model).items()
        }
        for name, thing in self.also.items():
            if isinstance(thing, nn.Module):
                found |= {f"also/{in_path(name)}/{in_path(key)}": one for key, one in thing.state_dict().items()}
        for number, parameters in self.outside().items():
            found |= {f"outside/{number}/{place}": parameter for place, parameter in parameters.items()}
        for place, step in enumerate(self.steps):
            for slot, one in enumerate(step._slots.parameters):
                found |= {f"sharded/{place}/{slot}": one, f"inflight/{place}/gradients/{slot}": one}
        return {path: value for path, value in found.items() if isinstance(value, Tensor)}

    def like(self, path: str, patterns: Mapping[str, Tensor]) -> Tensor | None:
        """An optimizer's state is like the parameter it is about."""
        match path.split("/"):
            case ["optimizers", number, "state", place, *_] if int(number) < len(self.optimizers):
                return dict(enumerate(optimizers.parameters_of(self.optimizers[int(number)]))).get(int(place))
        return patterns.get(path)


def _still_to_come(cursor: Cursor, block: Block) -> int:
    """Batches that the cursor has handed out for this block, which it is not done with."""
    if block.loose:
        raise refusals.loose_deposits()
    pending = supply.still_to_come(cursor, block.places[: block.done])
    if pending is None:
        raise refusals.unknown_micro_batches()
    return pending


def said(name: str, state_dict: Callable[[], T]) -> T:
    try:
        return state_dict()
    except ZerogradError:
        raise
    except Exception as error:
        raise refusals.no_state(name, error) from error


def _with_class(thing: Any) -> dict[str, Any]:
    return {"class": class_of(thing), "state": said(type(thing).__name__, thing.state_dict)}


def class_of(thing: Any) -> str:
    """With those that it is made of: torch's SequentialLR and ChainedScheduler take any state for any of them."""
    parts = getattr(thing, "_schedulers", ())
    return f"{type(thing).__name__}({', '.join(map(class_of, parts))})" if parts else type(thing).__name__


def _counters(step: Step) -> dict[str, Any]:
    return {**step.state_dict(inflight="drop"), "inflight": None}


def _inflight(step: Step) -> dict[str, Any] | None:
    """What this rank has deposited in an open block. Sharded gradients are kept where all ranks have a part in them."""
    state: dict[str, Any] | None = step.state_dict(inflight="include")["inflight"]
    if state is None or not _is_sharded(step):
        return state
    if step._party is not None and step._party.mode == "overlap":
        raise refusals.not_scattered()
    return {**state, "gradients": None}


def _sharded_gradients(step: Step) -> list[Tensor | None] | None:
    state = step.state_dict(inflight="include")["inflight"] if _is_sharded(step) else None
    return None if state is None else state["gradients"]


def _is_sharded(step: Step) -> bool:
    return step._party is not None and step._party.gathers
