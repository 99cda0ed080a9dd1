"""The slots of a Step: its optimizers' parameters, each once, with what has to be known about them at every step."""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter, is_not, itemgetter

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from zerograd.engine.flat import Flat

# What is asked at every step is asked without a frame of Python: that is most of what a Step costs.
_groups, _params = attrgetter("param_groups"), itemgetter("params")
_PRECISE = (torch.float32, torch.float64)


class Slots:
    """Made anew only when an optimizer's parameters are others than before."""

    def __init__(self, optimizers: Sequence[Optimizer], model: nn.Module | None) -> None:
        self._optimizers, self._model = optimizers, model
        self._listed = _listed(optimizers)
        # By id: a parameter that two of the optimizers hold is one slot, divided and counted once.
        self.parameters = list({id(parameter): parameter for parameter in self._listed}.values())
        self.nothing = [None] * len(self.parameters)
        kinds = {(parameter.device, parameter.dtype) for parameter in self.parameters}
        self.plain = all(type(parameter) in (Tensor, nn.Parameter) for parameter in self.parameters)
        # Gradients of one kind: one call looks at all of them. And in a precision that their norm can be taken in.
        self.uniform = len(kinds) == 1 and self.plain
        self.precise = self.uniform and all(dtype in _PRECISE for _, dtype in kinds)
        self.half = any(dtype is torch.float16 for _, dtype in kinds)  # whose sums overflow
        self.double = any(dtype is torch.float64 for _, dtype in kinds)

    def current(self) -> "Slots":
        """These, unless a group was added, or a parameter frozen into or out of one."""
        listed = _listed(self._optimizers)
        if len(listed) == len(self._listed) and not any(map(is_not, listed, self._listed)):
            return self
        return Slots(self._optimizers, self._model)

    @cached_property
    def ids(self) -> frozenset[int]:
        return frozenset(map(id, self.parameters))

    @cached_property
    def device(self) -> torch.device:
        return self.parameters[0].device if self.parameters else torch.device("cpu")

    @cached_property
    def flat(self) -> Flat:
        return Flat(self.parameters)

    @cached_property
    def groups(self) -> list[list[Tensor]]:
        """The parameters of each group, as the optimizers have them."""
        return [list(group["params"]) for optimizer in self._optimizers for group in optimizer.param_groups]

    @cached_property
    def names(self) -> list[str]:
        """A name for each slot: the model's, else the one the optimizer was given, else its place."""
        names: dict[int, str] = {}
        for place, group in enumerate(group for optimizer in self._optimizers for group in optimizer.param_groups):
            given = group.get("param_names") or [f"{place}.{index}" for index in range(len(group["params"]))]
            for parameter, name in zip(group["params"], given, strict=True):
                names.setdefault(id(parameter), name)
        if self._model is not None:
            names |= {id(parameter): name for name, parameter in self._model.named_parameters()}
        return [names[id(parameter)] for parameter in self.parameters]


def _listed(optimizers: Sequence[Optimizer]) -> list[Tensor]:
    groups = chain.from_iterable(map(_groups, optimizers))
    return list(chain.from_iterable(map(_params, groups)))
