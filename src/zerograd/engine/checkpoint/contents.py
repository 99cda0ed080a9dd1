"""What a checkpoint holds: what all ranks have in common, and what each of them has alone."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from zerograd.engine.checkpoint import chance, refusals
from zerograd.engine.checkpoint.cursor import Cursor
from zerograd.engine.checkpoint.naming import parameter_names, state_of
from zerograd.engine.step import Step


class Stateful(Protocol):
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> object: ...


class Contents:
    def __init__(
        self, steps: Sequence[Step], model: nn.Module, loader: Stateful | None, also: Mapping[str, Stateful]
    ) -> None:
        self.steps, self.model, self.loader, self.also = steps, model, loader, also
        self.optimizers = [optimizer for step in steps for optimizer in step.optimizers]
        self.device = steps[0]._slots.device
        terms = [step._terms for step in steps]
        self._parts: dict[str, list[Any]] = {
            "schedulers": [scheduler for one in terms for scheduler in one.schedulers],
            "scalers": list({id(one.scaling.scaler): one.scaling.scaler for one in terms if one.scaling}.values()),
            "also": [also[name] for name in sorted(also)],
        }

    # To be saved

    def common(self) -> dict[str, Any]:
        return {
            "model": {name: value for name, (_, value) in state_of(self.model).items()},
            "optimizers": self._optimizers(),
            **{part: [thing.state_dict() for thing in things] for part, things in self._parts.items()},
            "steps": [_counters(step) for step in self.steps],
            "sharded": [_sharded_gradients(step) for step in self.steps],
        }

    def own(self) -> dict[str, Any]:
        """Of this rank."""
        return {
            "chance": chance.read(self.device),
            "buffers": self._buffers(),
            "position": self._position(),
            "inflight": [_inflight(step) for step in self.steps],
        }

    def _buffers(self) -> dict[str, Tensor]:
        """Each rank may have its own: DDP shares the first one's with every commit, others nobody does."""
        return dict(self.model.named_buffers())

    def load_buffers(self, saved: dict[str, Tensor]) -> None:
        for name, buffer in self.model.named_buffers():
            if name in saved and saved[name].shape == buffer.shape:
                buffer.copy_(saved[name])

    def _optimizers(self) -> list[dict[str, Any]]:
        names = parameter_names(self.model, self.optimizers)
        return [
            {
                "state": {names[id(parameter)]: dict(values) for parameter, values in optimizer.state.items()},
                "groups": [
                    {**group, "params": [names[id(parameter)] for parameter in group["params"]]}
                    for group in optimizer.param_groups
                ],
            }
            for optimizer in self.optimizers
        ]

    def _position(self) -> dict[str, Any] | None:
        blocks = [step._block for step in self.steps if step._block is not None]
        pending = max((block.pending for block in blocks), default=0)
        if isinstance(self.loader, Cursor):
            return self.loader.state_dict(pending=pending, inside=bool(blocks))
        if self.loader is not None and pending:
            raise refusals.past_the_group()
        return None if self.loader is None else self.loader.state_dict()

    # To be loaded

    def load(self, common: dict[str, Any]) -> None:
        """The model's own tensors are filled already: what is left are numbers, and the rest of the world."""
        here = state_of(self.model)
        self.model.load_state_dict({name: common["model"][plain] for plain, (name, _) in here.items()})
        for number, optimizer in enumerate(self.optimizers):
            self._load_optimizer(optimizer, common["optimizers"][number])
        for part, things in self._parts.items():
            for thing, state in zip(things, common[part], strict=True):
                thing.load_state_dict(state)

    def check(self, common: dict[str, Any]) -> None:
        """Refuse what is of another model before anything is touched."""
        mine, theirs = set(state_of(self.model)), set(common["model"])
        if mine != theirs:
            raise refusals.other_model(f"it differs in {', '.join(sorted(mine ^ theirs)[:3])}")
        for part, things in {**self._parts, "optimizers": self.optimizers, "steps": list(self.steps)}.items():
            if len(things) != len(common[part]):
                raise refusals.other_model(f"it has {len(common[part])} {part}, and this run has {len(things)}")
        names = parameter_names(self.model, self.optimizers)
        for optimizer, saved in zip(self.optimizers, common["optimizers"], strict=True):
            held = [[names[id(parameter)] for parameter in group["params"]] for group in optimizer.param_groups]
            if held != [group["params"] for group in saved["groups"]]:
                raise refusals.other_model(f"another {type(optimizer).__name__} holds other parameters")

    def load_steps(self, common: dict[str, Any], inflight: Sequence[dict[str, Any] | None]) -> None:
        for step, counters, deposits in zip(self.steps, common["steps"], inflight, strict=True):
            step.load_state_dict({**counters, "inflight": deposits})

    def _load_optimizer(self, optimizer: Any, saved: dict[str, Any]) -> None:
        names = [name for group in saved["groups"] for name in group["params"]]
        order = {name: place for place, name in enumerate(names)}
        groups = [{**group, "params": [order[name] for name in group["params"]]} for group in saved["groups"]]
        state = {order[name]: values for name, values in saved["state"].items()}
        optimizer.load_state_dict({"state": state, "param_groups": groups})

    def like(self, path: str, slots: Mapping[str, Tensor]) -> Tensor | None:
        """The parameter that a stored tensor belongs to, and is sharded like."""
        match path.split("/"):
            case ["common", "optimizers", _, "state", name, _]:
                return slots.get(name)
            case ["common", "sharded", number, place]:
                return self.steps[int(number)]._slots.parameters[int(place)]
        return None


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
