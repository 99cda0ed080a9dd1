"""The slots of a Step: its optimizers' parameters, each once, with what has to be known about them at every step."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter, is_not, itemgetter

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from zerograd.engine.flat import Flat

# What is asked at every step is asked without a frame of Python: that is most of what a Step costs.
_groups, _params = attrgetter("param_groups"), itemgetter("params")
_dtype = attrgetter("dtype")


class Slots:
    """Made anew only when an optimizer's parameters are others than before."""

    def __init__(self, optimizers: Sequence[Optimizer], model: nn.Module | None) -> None:
        self._optimizers, self._model = optimizers, model
        groups = list(map(_params, chain.from_iterable(map(_groups, optimizers))))
        self._listed, self._sizes = list(chain.from_iterable(groups)), list(map(len, groups))
        # By id: a parameter that two of the optimizers hold is one slot, divided and counted once.
        self.parameters = list({id(parameter): parameter for parameter in self._in_order()}.values())
        self.nothing = [None] * len(self.parameters)
        self.device = self._listed[0].device if self._listed else torch.device("cpu")
        # Not by `device.type`: torch writes that name anew each time it is asked, for 3 us.
        self.on_cuda = bool(self._listed) and self._listed[0].is_cuda
        self.plain = all(type(parameter) in (Tensor, nn.Parameter) for parameter in self.parameters)

    def current(self) -> "Slots":
        """These, unless a group was added, or a parameter put into or out of one."""
        groups = list(map(_params, chain.from_iterable(map(_groups, self._optimizers))))
        known = self._listed
        if list(map(len, groups)) == self._sizes and not any(map(is_not, chain.from_iterable(groups), known)):
            if known:
                self.device, self.on_cuda = known[0].device, known[0].is_cuda
            return self
        return Slots(self._optimizers, self._model)

    def are_all(self) -> bool:
        """Whether no group of the optimizers has grown or shrunk since."""
        return self._sizes == list(map(len, map(_params, chain.from_iterable(map(_groups, self._optimizers)))))

    def _in_order(self) -> Iterable[Tensor]:
        """The model's, in which clip_grad_norm_(model.parameters()) sums: the last bit of a norm depends on it."""
        if self._model is None:
            return self._listed
        mine = set(map(id, self._listed))
        return chain((one for one in self._model.parameters() if id(one) in mine), self._listed)

    def gradients(self) -> list[Tensor]:
        """What lies in them now."""
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]

    @property
    def half(self) -> bool:
        """Whether some are fp16, whose sums overflow. Asked anew: model.half() keeps the parameters."""
        return torch.float16 in map(_dtype, self.parameters)

    @cached_property
    def ids(self) -> frozenset[int]:
        return frozenset(map(id, self.parameters))

    @cached_property
    def flat(self) -> Flat:
        return Flat(self.parameters)

    @cached_property
    def uniform(self) -> bool:
        """Whether one call could look at all gradients when these slots were made."""
        return self.plain and len({(parameter.device, parameter.dtype) for parameter in self.parameters}) == 1

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
